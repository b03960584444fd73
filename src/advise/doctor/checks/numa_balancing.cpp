#include <algorithm>

#include "advise/doctor/advice.h"

namespace assay::numa_balancing_check {
namespace {

constexpr Advice advice = {
    .wanted = "0",
    .why =
        "the kernel unmaps pages to see who uses them and moves them under running transfers: "
        "slower and uneven from run to run",
    .source =
        "ROCm docs, MI300X system optimization: Disable NUMA auto-balancing; workload "
        "optimization: RCCL",
    .fix = "sudo sysctl kernel.numa_balancing=0"};

std::ptrdiff_t memory_nodes(const Machine& machine) {
  const std::vector<std::string> names = machine.list("sys/devices/system/node");
  return std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("node") && whole_number(std::string_view(name).substr(4));
  });
}

std::vector<Finding> run(const CheckContext& context) {
  const Reading reading = read_setting(context.machine, "proc/sys/kernel/numa_balancing");
  // A kernel without the feature has no such file.
  if (reading.state == FileState::missing) return {};
  if (!reading.text) return {unknown(advice, reading.why_not)};
  const auto mode = whole_number(*reading.text);
  if (!mode) return {unknown(advice, "not a number: " + in_quotes(*reading.text))};
  if (*mode == 0) return {passed(advice, "0")};
  if (memory_nodes(context.machine) == 1) {
    return {passed(advice, *reading.text + ", without effect on one NUMA node")};
  }
  return {bad(!context.gpus.empty(), advice, *reading.text)};
}

const CheckRegistry::Add registered{{"numa-balancing", "NUMA balancing", Topic::host, &run}};

}  // namespace
}  // namespace assay::numa_balancing_check
