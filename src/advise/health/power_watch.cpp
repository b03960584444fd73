#include "advise/health/power_watch.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "machine/telemetry/summary.h"
#include "measure/sampling/runner.h"

namespace assay::health {
namespace {

constexpr double power_tick = 0.2;  // seconds between readings

/// The values of a channel of the first accelerator; null if there is none.
const std::vector<double>* channel_values(const TelemetryTrace& trace, std::string_view quantity) {
  for (std::size_t i = 0; i < trace.channels.size(); ++i) {
    const Channel& channel = trace.channels[i];
    if (!channel.hardware.empty() && channel.quantity == quantity) return &trace.values[i];
  }
  return nullptr;
}

}  // namespace

std::optional<double> power_limited_share(const TelemetryTrace& trace) {
  // NVIDIA's driver says at each reading whether it is so.
  if (const auto* const limited = channel_values(trace, "power_limited")) {
    return gauge_mean(trace.seconds, *limited, trace.window);
  }
  // AMD's firmware counts cycles of its control loop, and those in which power was the limit.
  const auto* const cycles = channel_values(trace, "throttle.cycles");
  const auto* const held = channel_values(trace, "throttle.power");
  if (cycles == nullptr || held == nullptr) return std::nullopt;
  const auto all = counter_advance(trace.seconds, *cycles, trace.window),
             limited = counter_advance(trace.seconds, *held, trace.window);
  if (!all || !limited || *all <= 0) return std::nullopt;
  return std::min(*limited / *all, 1.0);
}

PowerWatch::PowerWatch(const DeviceFacts& facts)
    : recorder_(facts.runs_on_host ? nullptr : start_telemetry(facts, power_tick)) {}

void PowerWatch::note() {
  if (!recorder_) return;
  const auto now = TelemetryRecorder::Clock::now();
  add(recorder_->slice(begin_, now));
  begin_ = now;
}

void PowerWatch::add(const TelemetryTrace& trace) {
  if (trace.window <= 0) return;
  seen_.seconds += trace.window;
  if (const auto share = power_limited_share(trace)) {
    seen_.limited_seconds = seen_.limited_seconds.value_or(0) + *share * trace.window;
  } else {
    seen_.unknown_seconds += trace.window;
  }
  const TelemetrySummary summary = summarize_telemetry(trace, {});
  if (summary.gpus.empty()) return;
  const GpuTelemetry& gpu = summary.gpus.front().second;
  if (gpu.power_mean_watts) {
    joules_ += *gpu.power_mean_watts * trace.window;
    metered_seconds_ += trace.window;
    seen_.mean_watts = joules_ / metered_seconds_;
  }
  if (gpu.power_max_watts) {
    seen_.max_watts = std::max(seen_.max_watts.value_or(0), *gpu.power_max_watts);
  }
}

}  // namespace assay::health
