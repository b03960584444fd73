#include "advise/doctor/gpu_model.h"
#include "advise/doctor/variable_advice.h"

namespace assay::nccl_min_nchannels_check {
namespace {

constexpr Advice advice = {
    .wanted = "NCCL_MIN_NCHANNELS=112",
    .why =
        "more channels let collectives use all links while kernels run beside them, which may "
        "speed up whole jobs on the 8-GPU mesh",
    .source =
        "ROCm docs, workload optimization: RCCL in E2E workloads; Performance environment "
        "variables",
    .fix = {}};

/// The advice is for the mesh of 8 MI300X; with fewer GPUs, RCCL's default is good.
std::vector<Finding> run(const CheckContext& context) {
  constexpr int whole_mesh = 8;
  if (!has_mi300x(context) || gpus_used(context) < whole_mesh) return {};
  return {judge_variable(context, "NCCL_MIN_NCHANNELS", "112", advice)};
}

const CheckRegistry::Add registered{
    {"nccl-min-nchannels", "NCCL_MIN_NCHANNELS", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::nccl_min_nchannels_check
