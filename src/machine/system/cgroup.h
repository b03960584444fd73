// Limits that control groups set for this process, in version 2 and version 1 hierarchies.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "machine/system/machine.h"

namespace assay {

struct CgroupLimits {
  int version = 0;                     ///< 2 or 1; 0: no control groups visible
  std::optional<double> cpus;          ///< the tightest quota of the group and its ancestors
  std::optional<double> memory_bytes;  ///< the tightest memory limit of the group and its ancestors
  std::string cpu_set;                 ///< CPUs the group may use, "0-7"; empty: unknown
  /// The path of the group's cpu.stat; empty: unknown.
  std::filesystem::path cpu_statistics;
};

CgroupLimits read_cgroup_limits(const Machine& machine);

/// Returns this process's group in the version 1 hierarchy of `controller`, or the root of the
/// hierarchy if the group is not visible: "sys/fs/cgroup/cpu/user.slice".
std::filesystem::path control_group_folder(const Machine& machine, std::string_view controller);

}  // namespace assay
