#include <algorithm>
#include <array>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::performance_level_check {
namespace {

constexpr Advice advice = {
    .wanted = "auto, or perf_determinism",
    .why = "other levels hold the clocks where a profiler or a user left them",
    .source =
        "Linux kernel documentation, amdgpu power_dpm_force_performance_level; ROCm docs, "
        "MI300X system optimization: Deterministic clock",
    .fix = "sudo amd-smi set --gpu all --perf-level AUTO"};

std::optional<Finding> look(const Gpu& gpu) {
  constexpr std::array<std::string_view, 3> free = {"auto", "perf_determinism", "high"};
  const std::string& level = gpu.performance_level;
  if (level.empty()) return std::nullopt;
  if (std::find(free.begin(), free.end(), level) != free.end()) {
    return passed(advice, level, label(gpu));
  }
  if (level != "low" && level != "manual" && !level.starts_with("profile_")) {
    return unknown(advice, "unknown level " + in_quotes(level), label(gpu));
  }
  return bad(level == "low" || level.starts_with("profile_min"), advice, level, label(gpu));
}

std::vector<Finding> run(const CheckContext& context) {
  return for_each_gpu(context, look);
}

const CheckRegistry::Add registered{{"performance-level", "Performance level", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::performance_level_check
