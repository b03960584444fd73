#include "advise/doctor/variable_advice.h"

namespace assay::gpu_max_hw_queues_check {
namespace {

constexpr Advice advice = {
    .wanted = "GPU_MAX_HW_QUEUES=2",
    .why =
        "the hardware works best with 4 streams or fewer: 2 queues for kernels and 2 for RCCL at "
        "high priority",
    .source = "ROCm docs, workload optimization: Multi-node FSDP and RCCL settings",
    .fix = {}};

std::vector<Finding> run(const CheckContext& context) {
  if (!context.has("amd") || !context.intent.multi_node) return {};
  return {judge_variable(context, "GPU_MAX_HW_QUEUES", "2", advice)};
}

const CheckRegistry::Add registered{
    {"gpu-max-hw-queues", "GPU_MAX_HW_QUEUES", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::gpu_max_hw_queues_check
