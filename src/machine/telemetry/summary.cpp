#include "machine/telemetry/summary.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// Drivers update their energy counters about ten times a second, and slow counters are read once a
// second. In shorter windows than this, or than two such intervals, a counter's error would exceed
// that of integrating power.
constexpr double least_counted_window = 1;

struct Point {
  double second, value;
};

std::vector<Point> points_of(std::span<const double> seconds, std::span<const double> values) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) points.push_back({seconds[i], values[i]});
  }
  return points;
}

/// Interpolates linearly between points, constant outside; `points` must not be empty.
double value_at(const std::vector<Point>& points, double second) {
  const auto after = std::find_if(points.begin(), points.end(),
                                  [&](const Point& point) { return point.second >= second; });
  if (after == points.end()) return points.back().value;
  if (after == points.begin()) return after->value;
  const Point& before = *std::prev(after);
  const double share = (second - before.second) / (after->second - before.second);
  return before.value + share * (after->value - before.value);
}

/// Returns the values of the ticks within the window, or of the two ticks around it if there is
/// none.
std::vector<double> values_within(const TelemetryTrace& trace, const std::vector<double>& values) {
  std::vector<double> inside;
  std::optional<double> before, after;
  for (const Point& point : points_of(trace.seconds, values)) {
    if (point.second < 0) {
      before = point.value;
    } else if (point.second <= trace.window) {
      inside.push_back(point.value);
    } else if (!after) {
      after = point.value;
    }
  }
  if (!inside.empty()) return inside;
  for (const auto& around : {before, after}) {
    if (around) inside.push_back(*around);
  }
  return inside;
}

std::optional<double> largest(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return *std::max_element(values.begin(), values.end());
}
std::optional<double> smallest(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return *std::min_element(values.begin(), values.end());
}
std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// The channels of one device of a trace.
class DeviceChannels {
 public:
  DeviceChannels(const TelemetryTrace& trace, std::string device)
      : trace_(trace), device_(std::move(device)) {}

  /// Returns null if there is no such channel.
  const std::vector<double>* find(std::string_view quantity) const {
    for (std::size_t i = 0; i < trace_.channels.size(); ++i) {
      const Channel& channel = trace_.channels[i];
      if (channel.device == device_ && channel.quantity == quantity) return &trace_.values[i];
    }
    return nullptr;
  }
  /// Returns the channel "clock", or the clock channels of all XCDs.
  std::vector<const std::vector<double>*> clocks() const {
    std::vector<const std::vector<double>*> found;
    for (std::size_t i = 0; i < trace_.channels.size(); ++i) {
      const Channel& channel = trace_.channels[i];
      const bool clock = channel.quantity == "clock" || channel.quantity.rfind("clock.xcd", 0) == 0;
      if (channel.device == device_ && clock) found.push_back(&trace_.values[i]);
    }
    return found;
  }
  std::optional<double> mean_of(std::string_view quantity) const {
    const auto* values = find(quantity);
    if (values == nullptr) return std::nullopt;
    return gauge_mean(trace_.seconds, *values, trace_.window);
  }
  std::optional<double> advance_of(std::string_view quantity) const {
    const auto* values = find(quantity);
    if (values == nullptr) return std::nullopt;
    return counter_advance(trace_.seconds, *values, trace_.window);
  }
  /// Returns the longest time between two readings, in seconds; 0 with fewer than two.
  double longest_gap_of(std::string_view quantity) const {
    double longest = 0;
    const auto* values = find(quantity);
    if (values == nullptr) return longest;
    const std::vector<Point> points = points_of(trace_.seconds, *values);
    for (std::size_t i = 1; i < points.size(); ++i) {
      longest = std::max(longest, points[i].second - points[i - 1].second);
    }
    return longest;
  }
  std::vector<double> within(std::string_view quantity) const {
    const auto* values = find(quantity);
    return values == nullptr ? std::vector<double>() : values_within(trace_, *values);
  }

 private:
  const TelemetryTrace& trace_;
  const std::string device_;
};

void summarize_clocks(const TelemetryTrace& trace, const DeviceChannels& channels,
                      GpuTelemetry& gpu) {
  std::vector<double> means, lows;
  for (const std::vector<double>* clock : channels.clocks()) {
    if (const auto value = gauge_mean(trace.seconds, *clock, trace.window)) means.push_back(*value);
    if (const auto value = smallest(values_within(trace, *clock))) lows.push_back(*value);
  }
  gpu.clock_mean_hz = mean(means);
  gpu.clock_min_hz = smallest(lows);
  if (means.size() > 1) gpu.xcd_spread = 1 - *smallest(means) / *largest(means);
}

/// AMD's firmware counts the cycles of its control loop and, for each reason, the cycles in which
/// it limited the clock. Reasons overlap, so the largest count is a lower bound. NVIDIA's driver
/// reports at each tick whether it limits the clock.
std::optional<double> throttled_share(const DeviceChannels& channels) {
  const auto cycles = channels.advance_of("throttle.cycles");
  if (!cycles) return mean(channels.within("throttled"));
  if (*cycles <= 0) return std::nullopt;
  std::optional<double> share;
  for (const char* reason : {"throttle.prochot", "throttle.power", "throttle.socket_thermal",
                             "throttle.regulator_thermal", "throttle.memory_thermal"}) {
    if (const auto held = channels.advance_of(reason)) {
      share = std::max(share.value_or(0), std::min(*held / *cycles, 1.0));
    }
  }
  return share;
}

GpuTelemetry summarize_gpu(const TelemetryTrace& trace, const std::string& device) {
  const DeviceChannels channels(trace, device);
  GpuTelemetry gpu;
  summarize_clocks(trace, channels, gpu);
  gpu.power_mean_watts = channels.mean_of("power");
  gpu.power_max_watts = largest(channels.within("power"));
  gpu.temperature_max_celsius = largest(channels.within("temperature"));
  gpu.throttled_share = throttled_share(channels);
  const auto counted = channels.advance_of("energy");
  const double least_window = std::max(least_counted_window, 2 * channels.longest_gap_of("energy"));
  if (counted && (trace.window >= least_window || !gpu.power_mean_watts)) {
    gpu.energy_joules = counted;
    gpu.energy_source = "counter";
  } else if (gpu.power_mean_watts) {
    gpu.energy_joules = *gpu.power_mean_watts * trace.window;
    gpu.energy_source = "power";
  }
  return gpu;
}

HostTelemetry summarize_host(const TelemetryTrace& trace) {
  const DeviceChannels cpu(trace, "cpu"), cgroup(trace, "cgroup");
  HostTelemetry host;
  host.clock_mean_hz = cpu.mean_of("clock_mean");
  const auto total = cpu.advance_of("total"), stolen = cpu.advance_of("steal");
  if (total && stolen && *total > 0) host.steal_share = *stolen / *total;
  const auto busy = cpu.advance_of("busy"), own = cpu.advance_of("own");
  if (total && busy && own && *total > 0) {
    host.others_share = std::max(0.0, (*busy - stolen.value_or(0) - *own) / *total);
  }
  host.cgroup_throttled_seconds = cgroup.advance_of("throttled");
  for (std::size_t i = 0; i < trace.channels.size(); ++i) {
    const Channel& channel = trace.channels[i];
    if (channel.device != "cpu" || channel.unit != "J") continue;
    const auto joules = counter_advance(trace.seconds, trace.values[i], trace.window);
    if (joules) host.energy_joules = host.energy_joules.value_or(0) + *joules;
  }
  return host;
}

}  // namespace

std::optional<double> taken_by_others(const HostTelemetry& host) {
  if (!host.others_share && !host.steal_share) return std::nullopt;
  return host.others_share.value_or(0) + host.steal_share.value_or(0);
}

std::optional<double> gauge_mean(std::span<const double> seconds, std::span<const double> values,
                                 double window) {
  const std::vector<Point> points = points_of(seconds, values);
  if (points.empty()) return std::nullopt;
  Point last{0, value_at(points, 0)};
  if (!(window > 0)) return last.value;
  double integral = 0;
  const auto add_until = [&](const Point& point) {
    integral += (point.second - last.second) * (point.value + last.value) / 2;
    last = point;
  };
  for (const Point& point : points) {
    if (point.second > 0 && point.second < window) add_until(point);
  }
  add_until({window, value_at(points, window)});
  return integral / window;
}

std::optional<double> counter_advance(std::span<const double> seconds,
                                      std::span<const double> values, double window) {
  const std::vector<Point> points = points_of(seconds, values);
  const bool forwards =
      std::is_sorted(points.begin(), points.end(),
                     [](const Point& a, const Point& b) { return a.value < b.value; });
  if (points.size() < 2 || !forwards) return std::nullopt;
  return value_at(points, window) - value_at(points, 0);
}

TelemetrySummary summarize_telemetry(const TelemetryTrace& trace, const WorkDone& work) {
  TelemetrySummary summary;
  std::optional<double> joules;
  for (const Channel& channel : trace.channels) {
    const bool known = std::any_of(summary.gpus.begin(), summary.gpus.end(),
                                   [&](const auto& gpu) { return gpu.first == channel.device; });
    if (channel.hardware.empty() || known) continue;
    GpuTelemetry gpu = summarize_gpu(trace, channel.device);
    if (gpu.energy_joules) joules = joules.value_or(0) + *gpu.energy_joules;
    summary.gpus.emplace_back(channel.device, std::move(gpu));
  }
  summary.host = summarize_host(trace);
  if (work.on_cpu) joules = summary.host.energy_joules;
  if (joules && work.bytes > 0) summary.joules_per_byte = *joules / work.bytes;
  if (joules && work.flops > 0) summary.joules_per_flop = *joules / work.flops;
  if (trace.window > 0 && work.seconds > 0) summary.busy_share = work.seconds / trace.window;
  return summary;
}

}  // namespace assay
