// A container on this machine, or on another one through `ssh`: the settings shared by all engines.
#pragma once

#include <string>
#include <vector>

#include "ranks/environments/environment.h"

namespace assay {

struct ContainerSettings {
  std::string engine;  ///< "docker", "podman", "apptainer", "bubblewrap"
  std::string image;   ///< name or file; for bubblewrap a root folder, "/" by default
  /// GPUs of the machine: "auto" for all, "none", "amd" or "nvidia" for all of that vendor, or
  /// indices such as "0,1".
  std::string gpus = "auto";
  ResourceLimits limits;
  std::vector<std::pair<std::string, std::string>> variables;  ///< names and values inside it
  std::vector<std::string> volumes;                            ///< "/host/path:/path"
  std::vector<std::string> options;  ///< the engine's own options, before the image
};

/// Paths of assay and its cache inside the container.
constexpr const char* binary_in_container = "/usr/local/bin/assay";
constexpr const char* binary_in_bubblewrap = "/tmp/assay";
constexpr const char* cache_in_container = "/var/cache";

/// The GPUs that the container gets, according to `settings` and the machine.
struct ContainerGpus {
  bool amd = false, nvidia = false;
  std::vector<std::string> indices;  ///< indices within one vendor; empty: all
};
/// Error: usage, if "auto" or indices stand for GPUs of another machine, or indices for those of a
/// machine with no or two vendors.
Result<ContainerGpus> container_gpus(const ContainerSettings& settings,
                                     const LaunchContext& context);

/// Adds the options for CPUs and memory, which docker, podman and apptainer share.
void add_limits(const ResourceLimits& limits, std::vector<std::string>& words);

/// Returns the command that starts `program`, a path or name inside the container, with its
/// arguments. Each engine has its own file. Error: as container_gpus(); usage for a GPU that is not
/// there.
Result<Launch> launch_docker(const ContainerSettings& settings, const LaunchContext& context,
                             const std::string& program,
                             const std::vector<std::string>& arguments);  // also for podman
Result<Launch> launch_apptainer(const ContainerSettings& settings, const LaunchContext& context,
                                const std::string& program,
                                const std::vector<std::string>& arguments);
Result<Launch> launch_bubblewrap(const ContainerSettings& settings, const LaunchContext& context,
                                 const std::string& program,
                                 const std::vector<std::string>& arguments);

}  // namespace assay
