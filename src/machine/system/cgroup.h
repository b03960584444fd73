// Limits that the control groups put on this process, version 2 and version 1 hierarchies.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "machine/system/machine.h"

namespace assay {

struct CgroupLimits {
  int version = 0;                     ///< 2 or 1; 0: no control groups to be seen
  std::optional<double> cpus;          ///< the tightest quota of the group and its ancestors
  std::optional<double> memory_bytes;  ///< the same for memory
  std::string cpu_set;                 ///< CPUs the group may use, "0-7"; empty: unknown
  /// Where cpu.stat of the group lies; empty: unknown.
  std::filesystem::path cpu_statistics;
};

CgroupLimits read_cgroup_limits(const Machine& machine);

/// This process's group in the version 1 hierarchy of `controller`, or the hierarchy's root where
/// the group cannot be seen: "sys/fs/cgroup/cpu/user.slice".
std::filesystem::path control_group_folder(const Machine& machine, std::string_view controller);

}  // namespace assay
