// Reads the limits that control groups set for this process, in version 2 and version 1
// hierarchies. Paths have no leading slash, as in machine.h.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

struct CgroupLimits {
  int version = 0;  ///< 2 or 1; 0: no control groups are visible, and the rest is empty
  /// The smallest CPU quota of the group and its ancestors, in CPUs (CPU seconds per second);
  /// empty: no quota was found.
  std::optional<double> cpus;
  /// The smallest memory limit of the group and its ancestors; empty: no limit was found.
  std::optional<double> memory_bytes;
  std::string cpu_set;  ///< CPUs the group may use, "0-7"; empty: unknown
  /// The path of the group's cpu.stat; empty: unknown.
  std::filesystem::path cpu_statistics;
};

CgroupLimits read_cgroup_limits(const Machine& machine);

/// Bytes that a control group with a limit may use, and those in use that the kernel could not
/// reclaim from cached files.
struct GroupMemory {
  double most = 0, used = 0;
};

/// Returns the memory of this process's group and of its ancestors, if they have limits, the
/// process's own first.
std::vector<GroupMemory> memory_of_groups(const Machine& machine);

/// Returns the folder of this process's group in the version 1 hierarchy of `controller` ("cpu"):
/// "sys/fs/cgroup/cpu/user.slice". If a container hides the group, or the process has none there,
/// it returns the root of that hierarchy, "sys/fs/cgroup/cpu", which may not exist.
std::filesystem::path control_group_folder(const Machine& machine, std::string_view controller);

}  // namespace assay
