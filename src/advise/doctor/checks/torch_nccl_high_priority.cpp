#include "advise/doctor/variable_advice.h"

namespace assay::torch_nccl_high_priority_check {
namespace {

constexpr Advice advice = {
    .wanted = "TORCH_NCCL_HIGH_PRIORITY=1",
    .why =
        "in multi-node FSDP the streams of collectives overlap poorly with those of kernels "
        "unless they have priority",
    .source = "ROCm docs, workload optimization: Multi-node FSDP and RCCL settings",
    .fix = {}};

std::vector<Finding> run(const CheckContext& context) {
  if (!context.has("amd") || !context.intent.multi_node) return {};
  return {judge_variable(context, "TORCH_NCCL_HIGH_PRIORITY", "1", advice)};
}

const CheckRegistry::Add registered{
    {"torch-nccl-high-priority", "TORCH_NCCL_HIGH_PRIORITY", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::torch_nccl_high_priority_check
