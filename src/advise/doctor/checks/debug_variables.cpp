#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "advise/doctor/gpu_model.h"
#include "advise/doctor/variable_advice.h"

namespace assay::debug_variables_check {
namespace {

constexpr Advice advice = {
    .wanted = "no switches that debug, tune or turn paths off",
    .why = {},
    .source =
        "ROCm docs, environment variables, and workload optimization: Debugging memory access "
        "faults; NCCL docs, Environment Variables; PyTorch docs, TunableOp; MIOpen docs, Find "
        "modes",
    .fix = {}};

constexpr const char* why_in_general =
    "they make launches wait, write logs, measure alternatives in the job or take slower paths";

/// Unset, "0" and "false" leave a switch off.
bool is_on(const CheckContext&, const std::string& value) {
  return !value.empty() && value != "0" && value != "false" && value != "False" && value != "OFF" &&
         value != "off";
}
bool is_zero(const CheckContext&, const std::string& value) {
  return value == "0";
}
/// A distance between devices of which NCCL makes no use: older releases number them.
bool is_no_distance(const CheckContext&, const std::string& value) {
  return value == "0" || value == "LOC";
}
bool is_few_channels(const CheckContext&, const std::string& value) {
  constexpr long long few = 8;
  const auto number = whole_number(value);
  return number && *number >= 1 && *number < few;
}

/// "9.4.2" for gfx942, "9.0.10" for gfx90a.
std::string version_of(std::string_view arch) {
  if (!arch.starts_with("gfx") || arch.size() < 6) return {};
  const std::string_view number = arch.substr(3);
  const std::string_view stepping = "0123456789abcdef";
  return fmt::format("{}.{}.{}", number.substr(0, number.size() - 2), number[number.size() - 2],
                     stepping.find(number.back()));
}
bool is_other_arch(const CheckContext& context, const std::string& value) {
  return !value.empty() &&
         std::any_of(context.gpus.begin(), context.gpus.end(), [&](const Gpu& gpu) {
           const std::string version = version_of(arch_of(gpu));
           return gpu.vendor == "amd" && !version.empty() && version != value;
         });
}

/// PyTorch tunes wherever TunableOp is on, unless told otherwise.
bool is_tuning(const CheckContext& context, const std::string& value) {
  return is_on(context, value) && variable(context, "PYTORCH_TUNABLEOP_TUNING") != "0";
}
bool is_search(const CheckContext&, const std::string& value) {
  return !value.empty() && value != "1" && value != "NONE";
}

struct Switch {
  std::string_view name;
  bool certain;  ///< whether it always costs performance
  std::string_view why;
  bool (*set_badly)(const CheckContext& context, const std::string& value) = is_on;
  std::string_view fix = {};  ///< else it is unset
};

constexpr std::array<Switch, 26> switches = {
    {{"HIP_LAUNCH_BLOCKING", true, "every launch waits for its kernel"},
     {"CUDA_LAUNCH_BLOCKING", true, "every launch waits for its kernel"},
     {"AMD_SERIALIZE_KERNEL", true, "kernels wait for each other"},
     {"AMD_SERIALIZE_COPY", true, "copies wait for each other"},
     {"PYTORCH_NO_HIP_MEMORY_CACHING", true, "every tensor is allocated by the driver"},
     {"PYTORCH_NO_CUDA_MEMORY_CACHING", true, "every tensor is allocated by the driver"},
     {"HSA_DISABLE_FRAGMENT_ALLOCATOR", false, "small allocations are not pooled"},
     {"HSA_ENABLE_DEBUG", false, "the runtime checks every call"},
     {"HSA_TOOLS_LIB", false, "a tool sits between the program and the runtime"},
     {"HSA_ENABLE_SDMA", false,
      "kernels copy instead of the copy engines, and take compute units from others", is_zero},
     {"HSA_ENABLE_IPC_MODE_LEGACY", false,
      "processes cannot share GPU memory with several releases of ROCm"},
     {"HSA_OVERRIDE_GFX_VERSION", true,
      "the runtime takes the GPU for another one, whose kernels fail or are slow here",
      is_other_arch},
     {"HSA_XNACK", false, "kernels wait for pages that move between host and GPU"},
     {"AMD_LOG_LEVEL", false, "the runtime writes a log"},
     {"ROCBLAS_LAYER", false, "rocBLAS logs every call"},
     {"HIPBLASLT_LOG_LEVEL", false, "hipBLASLt logs every call"},
     {"MIOPEN_FIND_ENFORCE", false, "MIOpen searches solutions again in every process", is_search},
     {"NCCL_P2P_DISABLE", true, "collectives go through host memory"},
     {"NCCL_P2P_LEVEL", true, "collectives go through host memory", is_no_distance},
     {"NCCL_SHM_DISABLE", false, "processes of one node talk through the network"},
     {"NCCL_IB_DISABLE", false, "nodes talk over TCP instead of RDMA"},
     {"NCCL_NET_GDR_LEVEL", false, "what NICs send and receive goes through host memory",
      is_no_distance},
     {"NCCL_MAX_NCHANNELS", false, "so few channels use only a part of the links", is_few_channels},
     {"RCCL_KERNEL_COLL_TRACE_ENABLE", false, "collectives trace every step"},
     {"TORCH_COMPILE_DEBUG", false, "the compiler writes its intermediate steps"},
     {"PYTORCH_TUNABLEOP_ENABLED", false, "jobs measure solutions of every new product as they run",
      is_tuning, "export PYTORCH_TUNABLEOP_TUNING=0, once a results file is complete"}}};

std::vector<Finding> run(const CheckContext& context) {
  if (context.gpus.empty()) return {};
  if (auto finding = variables_not_known(context, advice)) {
    finding->why = why_in_general;
    return {*finding};
  }
  std::vector<Finding> findings;
  for (const Switch& entry : switches) {
    const auto set = variable(context, entry.name);
    if (!set || !entry.set_badly(context, *set)) continue;
    Finding finding = bad(entry.certain, advice, variable_text(context, entry.name));
    finding.why = entry.why;
    finding.fix = entry.fix.empty() ? fmt::format("unset {}", entry.name) : std::string(entry.fix);
    findings.push_back(std::move(finding));
  }
  if (findings.empty()) {
    findings.push_back(passed(advice, "none"));
    findings.back().why = why_in_general;
  }
  return findings;
}

const CheckRegistry::Add registered{{"debug-variables", "Switches left on", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::debug_variables_check
