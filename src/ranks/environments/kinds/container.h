// A container on this machine, or inside `ssh` on another: the settings shared by all engines.
#pragma once

#include <string>
#include <vector>

#include "ranks/environments/environment.h"

namespace assay {

struct ContainerSettings {
  std::string engine;  ///< "docker", "podman", "apptainer", "bubblewrap"
  std::string image;   ///< name or file; for bubblewrap a root folder, "/" by default
  /// "auto": all GPUs of the machine; "none"; "amd", "nvidia": all of that vendor; or indices "0,1"
  std::string gpus = "auto";
  ResourceLimits limits;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> volumes;  ///< "/host/path:/path"
  std::vector<std::string> options;  ///< the engine's own options, before the image
};

/// Paths of assay and its cache inside the container.
constexpr const char* binary_in_container = "/usr/local/bin/assay";
constexpr const char* binary_in_bubblewrap = "/tmp/assay";
constexpr const char* cache_in_container = "/var/cache";

/// Which GPUs the container gets, from `settings` and what the machine has.
struct ContainerGpus {
  bool amd = false, nvidia = false;
  std::vector<std::string> indices;  ///< of one vendor; empty: all
};
/// Error: usage if the vendor cannot be determined.
Result<ContainerGpus> container_gpus(const ContainerSettings& settings,
                                     const LaunchContext& context);

/// The command that starts `program`, a path or a name inside, with its arguments in the container.
/// Each engine has its own file.
Result<Launch> launch_docker(const ContainerSettings& settings, const LaunchContext& context,
                             const std::string& program,
                             const std::vector<std::string>& arguments);  // podman too
Result<Launch> launch_apptainer(const ContainerSettings& settings, const LaunchContext& context,
                                const std::string& program,
                                const std::vector<std::string>& arguments);
Result<Launch> launch_bubblewrap(const ContainerSettings& settings, const LaunchContext& context,
                                 const std::string& program,
                                 const std::vector<std::string>& arguments);

}  // namespace assay
