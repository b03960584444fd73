#include "advise/doctor/gpu_model.h"
#include "advise/doctor/variable_advice.h"

namespace assay::hsa_cpu_affinity_check {
namespace {

constexpr Advice advice = {
    .wanted = "HSA_OVERRIDE_CPU_AFFINITY_DEBUG=0",
    .why =
        "ROCm's helper threads otherwise run on any CPU, even far from the GPU the process is "
        "bound to",
    .source = "ROCm docs, MI300X system optimization: Change affinity of ROCm helper threads",
    .fix = {}};

/// The variable matters if processes are bound to CPUs, as they should be on machines with several
/// NUMA nodes.
std::vector<Finding> run(const CheckContext& context) {
  if (!has_mi300x(context) || !context.machine.exists("sys/devices/system/node/node1")) return {};
  return {judge_variable(context, "HSA_OVERRIDE_CPU_AFFINITY_DEBUG", "0", advice)};
}

const CheckRegistry::Add registered{
    {"hsa-cpu-affinity", "HSA_OVERRIDE_CPU_AFFINITY_DEBUG", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::hsa_cpu_affinity_check
