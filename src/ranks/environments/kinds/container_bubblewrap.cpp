// bubblewrap: namespaces around a folder that becomes the root, without an image or a daemon.
#include <fmt/format.h>

#include "ranks/environments/kinds/container.h"
#include "ranks/environments/kinds/visible_gpus.h"

namespace assay {
namespace {

/// Splits "/host/path:/path"; a single path stands for both sides.
std::pair<std::string, std::string> sides_of(const std::string& volume) {
  const std::size_t colon = volume.find(':');
  if (colon == std::string::npos) return {volume, volume};
  return {volume.substr(0, colon), volume.substr(colon + 1)};
}

}  // namespace

Result<Launch> launch_bubblewrap(const ContainerSettings& settings, const LaunchContext& context,
                                 const std::string& program,
                                 const std::vector<std::string>& arguments) {
  const ContainerGpus gpus = TRY(container_gpus(settings, context));
  // Under an arbitrary root, mount points can be created only in a temporary file system.
  const std::string cache = "/tmp/cache";
  Launch launch;
  std::vector<std::string>& words = launch.words;
  words = {"bwrap", "--ro-bind", settings.image, "/", "--proc", "/proc"};
  if (gpus.amd || gpus.nvidia) {
    words.insert(words.end(), {"--dev-bind", "/dev", "/dev"});
  } else {
    words.insert(words.end(), {"--dev", "/dev"});
  }
  // The container needs /sys, so that the environments of both sides can be compared.
  if (settings.image != "/") words.insert(words.end(), {"--ro-bind", "/sys", "/sys"});
  words.insert(words.end(), {"--tmpfs", "/tmp", "--ro-bind", context.binary, binary_in_bubblewrap});
  if (!context.cache.empty()) {
    words.insert(words.end(),
                 {"--bind", context.cache, cache + "/assay", "--setenv", "XDG_CACHE_HOME", cache});
  }
  for (const std::string& volume : settings.volumes) {
    const auto [outside, inside] = sides_of(volume);
    words.insert(words.end(), {"--bind", outside, inside});
  }
  for (const auto& [name, text] : settings.variables) {
    words.insert(words.end(), {"--setenv", name, text});
  }
  if (!gpus.indices.empty()) {
    words.insert(words.end(), {"--setenv", std::string(visible_gpus_variable(gpus.amd)),
                               fmt::format("{}", fmt::join(gpus.indices, ","))});
  }
  words.insert(words.end(), {"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent",
                             "--chdir", "/"});
  words.insert(words.end(), settings.options.begin(), settings.options.end());
  words.insert(words.end(), {"--", program});
  words.insert(words.end(), arguments.begin(), arguments.end());
  launch.limits = settings.limits;
  return launch;
}

}  // namespace assay
