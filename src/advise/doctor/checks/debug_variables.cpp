#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "advise/doctor/variable_advice.h"

namespace assay::debug_variables_check {
namespace {

constexpr Advice advice = {
    .wanted = "no debugging switches",
    .why = {},
    .source =
        "ROCm docs, environment variables, and workload optimization: Debugging memory access "
        "faults; NCCL docs, Environment Variables: Debugging",
    .mend = {}};

constexpr const char* why_in_general = "they make launches wait, or write logs";

struct Switch {
  std::string_view name;
  bool certain;  ///< always costs performance
  std::string_view why;
};

constexpr std::array<Switch, 17> switches = {
    {{"HIP_LAUNCH_BLOCKING", true, "every launch waits for its kernel"},
     {"CUDA_LAUNCH_BLOCKING", true, "every launch waits for its kernel"},
     {"AMD_SERIALIZE_KERNEL", true, "kernels wait for each other"},
     {"AMD_SERIALIZE_COPY", true, "copies wait for each other"},
     {"PYTORCH_NO_HIP_MEMORY_CACHING", true, "every tensor is allocated by the driver"},
     {"PYTORCH_NO_CUDA_MEMORY_CACHING", true, "every tensor is allocated by the driver"},
     {"HSA_DISABLE_FRAGMENT_ALLOCATOR", false, "small allocations are not pooled"},
     {"HSA_ENABLE_DEBUG", false, "the runtime checks every call"},
     {"HSA_TOOLS_LIB", false, "a tool sits between the program and the runtime"},
     {"AMD_LOG_LEVEL", false, "the runtime writes a log"},
     {"ROCBLAS_LAYER", false, "rocBLAS logs every call"},
     {"HIPBLASLT_LOG_LEVEL", false, "hipBLASLt logs every call"},
     {"NCCL_P2P_DISABLE", true, "collectives go through host memory"},
     {"NCCL_SHM_DISABLE", false, "processes of one node talk through the network"},
     {"NCCL_IB_DISABLE", false, "nodes talk over TCP instead of RDMA"},
     {"RCCL_KERNEL_COLL_TRACE_ENABLE", false, "collectives trace every step"},
     {"TORCH_COMPILE_DEBUG", false, "the compiler writes its intermediate steps"}}};

/// Unset, "0" and "false" leave a switch off.
bool is_on(const std::string& value) {
  return !value.empty() && value != "0" && value != "false" && value != "False" && value != "OFF" &&
         value != "off";
}

std::vector<Finding> run(const CheckContext& context) {
  if (context.gpus.empty()) return {};
  if (auto finding = variables_not_known(context, advice)) {
    finding->why = why_in_general;
    return {*finding};
  }
  std::vector<Finding> findings;
  for (const Switch& entry : switches) {
    const auto set = variable(context, entry.name);
    if (!set || !is_on(*set)) continue;
    Finding finding = bad(entry.certain, advice, variable_text(context, entry.name));
    finding.why = entry.why;
    finding.mend = fmt::format("unset {}", entry.name);
    findings.push_back(std::move(finding));
  }
  if (findings.empty()) {
    findings.push_back(passed(advice, "none"));
    findings.back().why = why_in_general;
  }
  return findings;
}

const CheckRegistry::Add registered{
    {"debug-variables", "Debugging switches", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::debug_variables_check
