#include "advise/doctor/variable_advice.h"

namespace assay::hip_force_dev_kernarg_check {
namespace {

constexpr const char* name = "HIP_FORCE_DEV_KERNARG";

constexpr Advice advice = {
    .wanted = "HIP_FORCE_DEV_KERNARG=1",
    .why = "kernel arguments in device memory save 2 to 3 us per launch for some kernels",
    .source =
        "ROCm docs, MI300X system optimization: Environment variables; workload "
        "optimization: Performance environment variables",
    .fix = "export HIP_FORCE_DEV_KERNARG=1"};

constexpr Version default_since = {6, 2, 0};

std::vector<Finding> run(const CheckContext& context) {
  if (!context.has("amd")) return {};
  const auto set = variable(context, name);
  if (set == "1") return {passed(advice, variable_text(context, name))};
  if (set) return {warned(advice, variable_text(context, name))};
  // From this version on the runtime does this by default.
  const bool by_default = context.rocm && *context.rocm >= default_since;
  if (by_default) return {};
  if (auto finding = variables_not_known(context, advice)) return {*finding};
  if (!context.rocm) {
    return {unknown(advice,
                    "not set, and no ROCm version was found in /opt/rocm: it is the default "
                    "since 6.2")};
  }
  return {warned(advice, "not set, ROCm " + to_string(*context.rocm))};
}

const CheckRegistry::Add registered{
    {"hip-force-dev-kernarg", "HIP_FORCE_DEV_KERNARG", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::hip_force_dev_kernarg_check
