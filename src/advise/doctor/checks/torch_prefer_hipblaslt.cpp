#include "advise/doctor/gpu_model.h"
#include "advise/doctor/variable_advice.h"

namespace assay::torch_prefer_hipblaslt_check {
namespace {

constexpr const char* name = "TORCH_BLAS_PREFER_HIPBLASLT";

constexpr Advice advice = {
    .wanted = "TORCH_BLAS_PREFER_HIPBLASLT=1",
    .why =
        "PyTorch then uses hipBLASLt for matrix products; on Instinct it is faster than rocBLAS "
        "for most shapes",
    .source =
        "ROCm docs, workload optimization: Performance environment variables; PyTorch, "
        "CUDAHooks.cpp: getHipblasltPreferredArchs",
    .fix = "export TORCH_BLAS_PREFER_HIPBLASLT=1"};

/// Since these ROCm versions, PyTorch releases built for ROCm prefer hipBLASLt on the GPU by
/// default.
std::optional<Version> default_since(const CheckContext& context) {
  if (has_arch(context, "gfx950")) return Version{7, 0, 0};
  if (has_arch(context, "gfx942") || has_arch(context, "gfx90a")) return Version{6, 4, 0};
  return std::nullopt;
}

std::vector<Finding> run(const CheckContext& context) {
  const auto since = default_since(context);
  if (!since) return {};
  const auto set = variable(context, name);
  if (set == "1") return {passed(advice, variable_text(context, name))};
  if (set) return {warned(advice, variable_text(context, name))};
  const bool by_default = context.rocm && *context.rocm >= *since;
  if (by_default) return {};
  if (auto finding = variables_not_known(context, advice)) return {*finding};
  if (!context.rocm) {
    return {unknown(advice,
                    "not set, and no ROCm version was found in /opt/rocm: it is "
                    "PyTorch's default since ROCm " +
                        to_string(*since))};
  }
  return {warned(advice, "not set, ROCm " + to_string(*context.rocm))};
}

const CheckRegistry::Add registered{
    {"torch-prefer-hipblaslt", "TORCH_BLAS_PREFER_HIPBLASLT", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::torch_prefer_hipblaslt_check
