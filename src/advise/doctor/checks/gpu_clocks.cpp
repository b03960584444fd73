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
    .fix =
        "compare power limits, performance levels and temperatures: amd-smi metric, or "
        "nvidia-smi -q -d CLOCK,POWER,TEMPERATURE"};

constexpr Advice not_slow = {
    .wanted = "at least half of the highest clock under load, or all of the power limit used",
    .why =
        "firmware, a power supply or a setting holds busy GPUs back, and not the power limit, "
        "which they are far from: all work takes several times as long",
    .source =
        "AMD SMI docs, amd-smi metric: clock, power, throttle; nvidia-smi man page, Clocks Event "
        "Reasons",
    .fix =
        "follow what throttling, power-cap and performance-level say; where they pass: sudo "
        "amd-smi reset --gpureset --gpu all, or nvidia-smi --gpu-reset, then a cold start of the "
        "node"};

constexpr int busy_percent = 50;
/// A busy GPU below this share of its highest clock, and also below this share of its power limit,
/// is held back by something other than the power limit.
constexpr double low_clock = 0.5, low_power = 0.9;
constexpr double tolerated_spread = 0.05;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Spread {
  std::vector<double> values;
  double least() const { return *std::min_element(values.begin(), values.end()); }
  double most() const { return *std::max_element(values.begin(), values.end()); }
  bool even() const { return values.size() < 2 || most() - least() <= tolerated_spread * most(); }
  std::string clocks() const {
    return fmt::format("{} to {}", format_frequency(least()), format_frequency(most()));
  }
};

bool is_busy(const Gpu& gpu) {
  return gpu.state.utilisation_percent.value_or(0) >= busy_percent;
}

/// Whatever the other GPUs do.
bool is_held_back(const Gpu& gpu) {
  const auto& power = gpu.state.power_watts;
  if (!is_busy(gpu) || gpu.state.engine_clocks_hz.empty() || !gpu.clock_max_hz) return false;
  if (power && gpu.power_cap_watts && *power >= low_power * *gpu.power_cap_watts) return false;
  return mean(gpu.state.engine_clocks_hz) < low_clock * *gpu.clock_max_hz;
}

Finding held_back(const std::vector<const Gpu*>& gpus, const std::string& model) {
  Spread highest, now, power, limit;
  for (const Gpu* gpu : gpus) {
    highest.values.push_back(*gpu->clock_max_hz);
    now.values.push_back(mean(gpu->state.engine_clocks_hz));
    if (!gpu->state.power_watts || !gpu->power_cap_watts) continue;
    power.values.push_back(*gpu->state.power_watts);
    limit.values.push_back(*gpu->power_cap_watts);
  }
  std::string found = fmt::format("busy at {}, the highest clock is {}", now.clocks(),
                                  format_frequency(highest.most()));
  if (!power.values.empty()) {
    found +=
        fmt::format("; {:.0f} to {:.0f} W of {:.0f} W", power.least(), power.most(), limit.most());
  }
  return failed(not_slow, found, model);
}

/// Compares GPUs of one model.
Finding compare(const std::vector<const Gpu*>& gpus, const std::string& model) {
  Spread highest, now;
  bool busy = true;
  for (const Gpu* gpu : gpus) {
    if (gpu->clock_max_hz) highest.values.push_back(*gpu->clock_max_hz);
    if (!gpu->state.engine_clocks_hz.empty()) {
      now.values.push_back(mean(gpu->state.engine_clocks_hz));
    }
    busy = busy && is_busy(*gpu);
  }
  if (!highest.even()) return failed(advice, "highest clocks of " + highest.clocks(), model);
  if (now.values.size() < gpus.size()) {
    return unknown(advice, "the driver does not report every GPU's clock", model);
  }
  if (!busy) return unknown(advice, "not all busy: read again under load", model);
  if (!now.even()) return failed(advice, "now at " + now.clocks(), model);
  return passed(advice, "now at " + now.clocks(), model);
}

std::vector<Finding> run(const CheckContext& context) {
  std::map<std::string, std::vector<const Gpu*>> slow, others;  // keyed by model
  for (const Gpu& gpu : context.gpus) {
    if (is_visible(gpu)) (is_held_back(gpu) ? slow : others)[gpu.name].push_back(&gpu);
  }
  const auto name = [](const auto& group) {
    return fmt::format("{} x {}", group.second.size(), group.first);
  };
  std::vector<Finding> findings;
  for (const auto& group : slow) findings.push_back(held_back(group.second, name(group)));
  for (const auto& group : others) {
    if (group.second.size() > 1) findings.push_back(compare(group.second, name(group)));
  }
  return findings;
}

const CheckRegistry::Add registered{{"gpu-clocks", "Clocks of the GPUs", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::gpu_clocks_check
