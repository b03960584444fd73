// docker and podman, whose options differ only for NVIDIA's GPUs and rootless groups.
#include <fmt/format.h>
#include <unistd.h>

#include "core/text.h"
#include "ranks/environments/kinds/container.h"

namespace assay {
namespace {

using Words = std::vector<std::string>;

/// Adds what ROCm's documentation requires: the compute interface, the render nodes, their groups
/// by number (an image need not know the names), shared memory for RCCL, and system calls that
/// Docker's filter would block.
Status add_amd(Words& words, const ContainerSettings& settings, const ContainerGpus& gpus,
               const LaunchContext& context) {
  words.emplace_back("--device=/dev/kfd");
  if (gpus.indices.empty()) words.emplace_back("--device=/dev/dri");
  for (const std::string& index : gpus.indices) {
    const auto number = parse_count(index);
    if (!number || *number >= context.gpus->amd_files.size()) {
      return Error{ErrorKind::usage,
                   fmt::format("environment {}: gpus: there is no GPU {}; this machine has {}",
                               context.environment, index, context.gpus->amd_files.size())};
    }
    words.push_back("--device=" + context.gpus->amd_files[*number]);
  }
  if (settings.engine == "podman" && context.gpus && ::geteuid() != 0) {
    words.emplace_back("--group-add=keep-groups");
  } else if (context.gpus && !context.gpus->groups.empty()) {
    for (const std::string& group : context.gpus->groups) words.push_back("--group-add=" + group);
  } else {
    words.insert(words.end(), {"--group-add=video", "--group-add=render"});
  }
  words.insert(words.end(), {"--ipc=host", "--security-opt=seccomp=unconfined"});
  return {};
}

void add_nvidia(Words& words, const ContainerSettings& settings, const ContainerGpus& gpus) {
  if (settings.engine == "podman") {  // through the Container Device Interface
    if (gpus.indices.empty()) words.emplace_back("--device=nvidia.com/gpu=all");
    for (const std::string& index : gpus.indices) {
      words.push_back("--device=nvidia.com/gpu=" + index);
    }
    words.emplace_back("--security-opt=label=disable");
  } else if (gpus.indices.empty()) {
    words.emplace_back("--gpus=all");
  } else {
    // Docker parses the value as CSV: the quotes keep the list in one field.
    words.push_back(fmt::format("--gpus=\"device={}\"", fmt::join(gpus.indices, ",")));
  }
  words.emplace_back("--ipc=host");
}

}  // namespace

Result<Launch> launch_docker(const ContainerSettings& settings, const LaunchContext& context,
                             const std::string& program,
                             const std::vector<std::string>& arguments) {
  const ContainerGpus gpus = TRY(container_gpus(settings, context));
  Launch launch;
  Words& words = launch.words;
  words = {settings.engine, "run", "--rm", "--name", context.unit};
  add_limits(settings.limits, words);
  if (gpus.amd) TRY(add_amd(words, settings, gpus, context));
  if (gpus.nvidia) add_nvidia(words, settings, gpus);
  for (const auto& [name, text] : settings.variables) {
    words.insert(words.end(), {"-e", fmt::format("{}={}", name, text)});
  }
  for (const std::string& volume : settings.volumes) words.insert(words.end(), {"-v", volume});
  words.insert(words.end(), {"-v", fmt::format("{}:{}:ro", context.binary, binary_in_container)});
  if (!context.cache.empty()) {
    // The kernel cache and choices for this machine's GPU are valid inside and outside the
    // container.
    words.insert(words.end(), {"-v", fmt::format("{}:{}/assay", context.cache, cache_in_container),
                               "-e", fmt::format("XDG_CACHE_HOME={}", cache_in_container)});
  }
  words.insert(words.end(), settings.options.begin(), settings.options.end());
  words.insert(words.end(), {fmt::format("--entrypoint={}", program), settings.image});
  words.insert(words.end(), arguments.begin(), arguments.end());
  // Killing the client does not stop the container.
  launch.cleanup = {settings.engine, "rm", "-f", context.unit};
  return launch;
}

}  // namespace assay
