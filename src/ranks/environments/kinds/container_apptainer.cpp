// apptainer: containers run as the user; --rocm and --nv mount the host's driver libraries.
#include <fmt/format.h>

#include "ranks/environments/kinds/container.h"
#include "ranks/environments/kinds/visible_gpus.h"

namespace assay {

Result<Launch> launch_apptainer(const ContainerSettings& settings, const LaunchContext& context,
                                const std::string& program,
                                const std::vector<std::string>& arguments) {
  const ContainerGpus gpus = TRY(container_gpus(settings, context));
  Launch launch;
  std::vector<std::string>& words = launch.words;
  words = {"apptainer", "exec", "--containall"};
  if (gpus.amd) words.emplace_back("--rocm");
  if (gpus.nvidia) words.emplace_back("--nv");
  add_limits(settings.limits, words);
  for (const auto& [name, text] : settings.variables) {
    words.insert(words.end(), {"--env", fmt::format("{}={}", name, text)});
  }
  if (!gpus.indices.empty()) {  // a variable selects the GPUs
    words.insert(words.end(), {"--env", fmt::format("{}={}", visible_gpus_variable(gpus.amd),
                                                    fmt::join(gpus.indices, ","))});
  }
  for (const std::string& volume : settings.volumes) words.insert(words.end(), {"--bind", volume});
  words.insert(words.end(),
               {"--bind", fmt::format("{}:{}:ro", context.binary, binary_in_container)});
  if (!context.cache.empty()) {
    words.insert(words.end(),
                 {"--bind", fmt::format("{}:{}/assay", context.cache, cache_in_container), "--env",
                  fmt::format("XDG_CACHE_HOME={}", cache_in_container)});
  }
  words.insert(words.end(), settings.options.begin(), settings.options.end());
  words.insert(words.end(), {settings.image, program});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return launch;
}

}  // namespace assay
