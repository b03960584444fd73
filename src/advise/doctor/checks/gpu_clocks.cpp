#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"
#include "core/units.h"

namespace assay::gpu_clocks_check {
namespace {

constexpr Advice advice = {
    .wanted = "equal GPUs at equal clocks",
    .why = "every collective waits for the slowest GPU",
    .source = "ROCm docs, workload optimization: RCCL; MLCommons and vendors' acceptance guides",
    .mend =
        "compare power limits, performance levels and temperatures: amd-smi metric, or "
        "nvidia-smi -q -d CLOCK,POWER,TEMPERATURE"};

constexpr int busy_percent = 50;
constexpr double tolerated_spread = 0.05;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Spread {
  std::vector<double> clocks;
  bool even() const {
    const auto [least, most] = std::minmax_element(clocks.begin(), clocks.end());
    return clocks.size() < 2 || *most - *least <= tolerated_spread * *most;
  }
  std::string text() const {
    const auto [least, most] = std::minmax_element(clocks.begin(), clocks.end());
    return fmt::format("{} to {}", format_frequency(*least), format_frequency(*most));
  }
};

/// Compares GPUs of one model.
Finding compare(const std::vector<const Gpu*>& gpus, const std::string& model) {
  Spread highest, now;
  bool busy = true;
  for (const Gpu* gpu : gpus) {
    if (gpu->clock_max_hz) highest.clocks.push_back(*gpu->clock_max_hz);
    if (!gpu->state.engine_clocks_hz.empty()) {
      now.clocks.push_back(mean(gpu->state.engine_clocks_hz));
    }
    busy = busy && gpu->state.utilisation_percent.value_or(0) >= busy_percent;
  }
  if (!highest.even()) return failed(advice, "highest clocks of " + highest.text(), model);
  if (now.clocks.size() < gpus.size()) {
    return unknown(advice, "the driver does not report every GPU's clock", model);
  }
  if (!busy) return unknown(advice, "not all busy: read again under load", model);
  if (!now.even()) return failed(advice, "now at " + now.text(), model);
  return passed(advice, "now at " + now.text(), model);
}

std::vector<Finding> run(const CheckContext& context) {
  std::map<std::string, std::vector<const Gpu*>> models;
  for (const Gpu& gpu : context.gpus) {
    if (is_visible(gpu)) models[gpu.name].push_back(&gpu);
  }
  std::vector<Finding> findings;
  for (const auto& [model, gpus] : models) {
    if (gpus.size() > 1) {
      findings.push_back(compare(gpus, fmt::format("{} x {}", gpus.size(), model)));
    }
  }
  return findings;
}

const CheckRegistry::Add registered{{"gpu-clocks", "Clocks of the GPUs", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::gpu_clocks_check
