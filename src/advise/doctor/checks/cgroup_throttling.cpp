#include <fmt/format.h>

#include "advise/doctor/advice.h"
#include "machine/system/cgroup.h"
#include "machine/system/fact_source.h"

namespace assay::cgroup_throttling_check {
namespace {

constexpr Advice advice = {
    .wanted = "0 throttled periods",
    .why =
        "a throttled process is stopped for the rest of a period, 100 ms by default, and with "
        "it every GPU it feeds",
    .source =
        "Linux kernel documentation, CFS Bandwidth Control: statistics; Control Group v2: "
        "cpu.stat",
    .fix =
        "raise or remove the CPU quota: docker update --cpus N CONTAINER; Kubernetes: "
        "resources.limits.cpu; systemd: systemctl set-property UNIT CPUQuota="};

/// From this share on, throttling is permanent and not an effect of start-up.
constexpr double frequent = 0.05;

/// Reads a counter of cgroup statistics: 12 from "nr_periods 12".
std::optional<long long> counter(std::string_view statistics, std::string_view name) {
  const std::vector<std::string_view> all = words(statistics);
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    if (all[i] == name) return whole_number(all[i + 1]);
  }
  return std::nullopt;
}

std::vector<Finding> run(const CheckContext& context) {
  const CgroupLimits limits = read_cgroup_limits(context.machine);
  if (limits.cpu_statistics.empty()) return {};
  const Reading statistics = read_setting(context.machine, limits.cpu_statistics);
  if (statistics.state == FileState::missing) return {};
  if (!statistics.text) return {unknown(advice, statistics.why_not)};
  const auto periods = counter(*statistics.text, "nr_periods");
  const auto throttled = counter(*statistics.text, "nr_throttled");
  // Version 2 has these counters only if the cpu controller is enabled.
  if (!periods || !throttled) {
    if (!limits.cpus && counter(*statistics.text, "usage_usec")) {
      return {passed(advice, "no quota")};
    }
    return {unknown(advice, "no counters in /" + limits.cpu_statistics.string())};
  }
  const std::string found = fmt::format("{} of {} periods throttled", *throttled, *periods);
  if (*throttled <= 0) return {passed(advice, limits.cpus ? found : "no quota")};
  return {bad(static_cast<double>(*throttled) >= frequent * static_cast<double>(*periods), advice,
              found)};
}

const CheckRegistry::Add registered{
    {"cgroup-throttling", "Control group throttling", Topic::limits, &run}};

}  // namespace
}  // namespace assay::cgroup_throttling_check
