#include <fmt/format.h>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"
#include "machine/system/cgroup.h"

namespace assay::cpu_quota_check {
namespace {

constexpr Advice advice = {
    .wanted = "no quota, or one of all CPUs the process may run on",
    .why =
        "programs start a thread per CPU they see, use the quota up early in each period and "
        "are stopped for the rest of it",
    .source = "Linux kernel documentation, CFS Bandwidth Control; Control Group v2: cpu.max",
    .fix =
        "give whole CPUs instead: docker run --cpuset-cpus LIST without --cpus; Kubernetes: "
        "requests equal to limits in whole CPUs and the static CPU manager policy"};

/// The number of CPUs that this process may use: those of its cpuset if there is one, otherwise all
/// that are online.
std::optional<int> usable_cpus(const Machine& machine, const CgroupLimits& limits) {
  if (const auto count = count_cpus(limits.cpu_set)) return count;
  const Reading online = read_setting(machine, "sys/devices/system/cpu/online");
  return online.text ? count_cpus(*online.text) : std::nullopt;
}

/// What is wrong with the quota file of the process's own group; empty if the file is fine, or
/// absent because the group lacks the controller.
std::string odd_quota(const Machine& machine, const CgroupLimits& limits) {
  const Reading reading =
      read_setting(machine, limits.cpu_statistics.parent_path() /
                                (limits.version == 2 ? "cpu.max" : "cpu.cfs_quota_us"));
  if (reading.state == FileState::missing) return {};
  if (!reading.text) return reading.why_not;
  const std::string_view quota = words(*reading.text).front();
  return quota == "max" || whole_number(quota) ? "" : "not a quota: " + in_quotes(*reading.text);
}

std::vector<Finding> run(const CheckContext& context) {
  const CgroupLimits limits = read_cgroup_limits(context.machine);
  if (limits.version == 0) {
    return {unknown(advice, "no control groups are visible in /sys/fs/cgroup")};
  }
  if (const std::string odd = odd_quota(context.machine, limits); !odd.empty()) {
    return {unknown(advice, odd)};
  }
  const auto cpus = usable_cpus(context.machine, limits);
  if (!limits.cpus) return {passed(advice, "no quota")};
  if (!cpus) {
    return {unknown(advice, fmt::format("a quota of {:.4g} CPUs, but the number of CPUs is unknown",
                                        *limits.cpus))};
  }
  const std::string found = fmt::format("quota of {:.4g} CPUs, {} visible", *limits.cpus, *cpus);
  if (*limits.cpus >= *cpus) return {passed(advice, found)};
  // A process per GPU keeps one core busy with launches.
  const bool starves = *limits.cpus < visible_gpus(context);
  return {bad(starves, advice, found)};
}

const CheckRegistry::Add registered{{"cpu-quota", "CPU quota", Topic::limits, &run}};

}  // namespace
}  // namespace assay::cpu_quota_check
