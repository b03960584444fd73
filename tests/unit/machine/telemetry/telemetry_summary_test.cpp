// What is made of telemetry: means, counters, energy and throttling of made-up traces.
#include <gtest/gtest.h>

#include <cmath>

#include "machine/telemetry/summary.h"

namespace assay {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const std::string summary_pci = "0000:3b:00.0";

/// A trace of `window` seconds; channels are added one by one.
TelemetryTrace trace_of(double window, std::vector<double> seconds) {
  TelemetryTrace trace;
  trace.interval = 0.1;
  trace.window = window;
  trace.seconds = std::move(seconds);
  return trace;
}
void add(TelemetryTrace& trace, const std::string& device, const std::string& quantity,
         const std::string& unit, std::vector<double> values,
         const std::string& hardware = summary_pci) {
  const bool counter = unit == "J" || quantity.rfind("throttle.", 0) == 0;
  trace.channels.push_back(
      {device, quantity, unit, counter ? ChannelKind::counter : ChannelKind::gauge, hardware});
  trace.values.push_back(std::move(values));
}

TEST(GaugeMean, WeighsByTimeAndInterpolatesAtTheEnds) {
  const std::vector<double> seconds = {-1, 1, 3};
  // Linear from 0 to 2: at 0 it is 1, at 1 it is 2, at 2 it is 4.
  EXPECT_DOUBLE_EQ(*gauge_mean(seconds, std::vector<double>{0, 2, 6}, 2), (1.5 + 3) / 2);
  EXPECT_DOUBLE_EQ(*gauge_mean(seconds, std::vector<double>{nan, 5, nan}, 2), 5);
  EXPECT_DOUBLE_EQ(*gauge_mean(seconds, std::vector<double>{7, nan, nan}, 2), 7);
  EXPECT_DOUBLE_EQ(*gauge_mean(seconds, std::vector<double>{1, 3, 5}, 0), 2);
  EXPECT_FALSE(gauge_mean(seconds, std::vector<double>{nan, nan, nan}, 2));
  EXPECT_FALSE(gauge_mean({}, {}, 2));
}

TEST(CounterAdvance, IsLinearBetweenReadingsAndNeverInvented) {
  const std::vector<double> seconds = {-1, 1, 3};
  EXPECT_DOUBLE_EQ(*counter_advance(seconds, std::vector<double>{100, 300, 700}, 2), 300);
  EXPECT_DOUBLE_EQ(*counter_advance(seconds, std::vector<double>{100, nan, 500}, 2), 200);
  EXPECT_FALSE(counter_advance(seconds, std::vector<double>{100, nan, nan}, 2));
  EXPECT_FALSE(
      counter_advance(seconds, std::vector<double>{700, 300, 100}, 2));  // the counter was reset
  // What happened after the last reading is unknown.
  EXPECT_DOUBLE_EQ(*counter_advance(std::vector<double>{0, 1}, std::vector<double>{0, 10}, 5), 10);
}

TEST(TelemetrySummary, OfAnNvidiaGpu) {
  TelemetryTrace trace = trace_of(2, {-0.5, 0.5, 1.5, 2.5});
  add(trace, "gpu0", "clock", "Hz", {1e9, 2e9, 1.8e9, 1e9});
  add(trace, "gpu0", "power", "W", {100, 700, 600, 100});
  add(trace, "gpu0", "energy", "J", {0, 1000, 2000, 3000});
  add(trace, "gpu0", "temperature", "degC", {90, 60, 61, 95});
  add(trace, "gpu0", "throttled", "1", {1, 0, 1, 1});
  const TelemetrySummary summary =
      summarize_telemetry(trace, {.bytes = 4e12, .flops = 2e15, .seconds = 1.5});
  ASSERT_EQ(summary.gpus.size(), 1u);
  const GpuTelemetry& gpu = summary.gpus[0].second;
  EXPECT_EQ(summary.gpus[0].first, "gpu0");
  EXPECT_DOUBLE_EQ(*gpu.clock_mean_hz, (1.5e9 + 2e9) / 8 + (2e9 + 1.8e9) / 4 + (1.8e9 + 1.4e9) / 8);
  EXPECT_DOUBLE_EQ(*gpu.clock_min_hz, 1.8e9);  // ticks outside the window do not count
  EXPECT_DOUBLE_EQ(*gpu.power_max_watts, 700);
  EXPECT_DOUBLE_EQ(*gpu.temperature_max_celsius, 61);
  EXPECT_DOUBLE_EQ(*gpu.throttled_share, 0.5);
  EXPECT_DOUBLE_EQ(*gpu.energy_joules, 2000);
  EXPECT_EQ(gpu.energy_source, "counter");
  EXPECT_FALSE(gpu.xcd_spread);
  EXPECT_DOUBLE_EQ(*summary.joules_per_byte, 2000 / 4e12);
  EXPECT_DOUBLE_EQ(*summary.joules_per_flop, 2000 / 2e15);
  EXPECT_DOUBLE_EQ(*summary.busy_share, 0.75);
}

TEST(TelemetrySummary, XcdsAndThrottleCountersOfAnAmdGpu) {
  TelemetryTrace trace = trace_of(1, {0, 1});
  add(trace, "gpu2", "clock.xcd0", "Hz", {2.1e9, 2.1e9});
  add(trace, "gpu2", "clock.xcd1", "Hz", {1.8e9, 2.0e9});
  add(trace, "gpu2", "memory_clock", "Hz", {1.3e9, 1.3e9});
  add(trace, "gpu2", "throttle.cycles", "1", {1000, 2000});
  add(trace, "gpu2", "throttle.power", "1", {0, 250});
  add(trace, "gpu2", "throttle.socket_thermal", "1", {90, 100});
  const TelemetrySummary summary = summarize_telemetry(trace, {});
  const GpuTelemetry& gpu = summary.gpus.at(0).second;
  EXPECT_DOUBLE_EQ(*gpu.clock_mean_hz, 2.0e9);
  EXPECT_DOUBLE_EQ(*gpu.clock_min_hz, 1.8e9);
  EXPECT_NEAR(*gpu.xcd_spread, 1 - 1.9 / 2.1, 1e-12);
  EXPECT_DOUBLE_EQ(*gpu.throttled_share, 0.25);
  EXPECT_FALSE(gpu.energy_joules);
  EXPECT_FALSE(summary.joules_per_byte);
  EXPECT_FALSE(summary.busy_share);
}

TEST(TelemetrySummary, EnergyIsThatOfPowerWhereACounterIsMissingOrTooCoarse) {
  TelemetryTrace trace = trace_of(2, {0, 2});
  add(trace, "gpu0", "power", "W", {100, 300});
  EXPECT_DOUBLE_EQ(*summarize_telemetry(trace, {}).gpus.at(0).second.energy_joules, 400);
  EXPECT_EQ(summarize_telemetry(trace, {}).gpus.at(0).second.energy_source, "power");
  TelemetryTrace brief = trace_of(0.2, {0, 0.2});
  add(brief, "gpu0", "power", "W", {100, 100});
  add(brief, "gpu0", "energy", "J", {500, 500});  // not updated in that time
  EXPECT_DOUBLE_EQ(*summarize_telemetry(brief, {}).gpus.at(0).second.energy_joules, 20);
}

TEST(TelemetrySummary, ACounterReadTooSeldomForTheWindowGivesWayToPower) {
  TelemetryTrace trace = trace_of(1.5, {-0.5, 0.5, 1.5});
  add(trace, "gpu0", "power", "W", {100, 100, 100});
  add(trace, "gpu0", "energy", "J", {0, 400, 800});
  EXPECT_DOUBLE_EQ(*summarize_telemetry(trace, {}).gpus.at(0).second.energy_joules, 150);
  trace.window = 2;  // twice the interval between readings
  EXPECT_EQ(summarize_telemetry(trace, {}).gpus.at(0).second.energy_source, "counter");
}

TEST(TelemetrySummary, NoTickInsideTheWindowMeansThoseAroundIt) {
  TelemetryTrace trace = trace_of(0.01, {-1, -0.1, 0.1});
  add(trace, "gpu0", "throttled", "1", {1, 0, 0});
  add(trace, "gpu0", "temperature", "degC", {99, 50, 60});
  const TelemetrySummary summary = summarize_telemetry(trace, {});
  EXPECT_DOUBLE_EQ(*summary.gpus.at(0).second.throttled_share, 0);
  EXPECT_DOUBLE_EQ(*summary.gpus.at(0).second.temperature_max_celsius, 60);
}

TEST(TelemetrySummary, OfTheHost) {
  TelemetryTrace trace = trace_of(1, {0, 1});
  add(trace, "cpu", "clock_mean", "Hz", {3e9, 2e9}, "");
  add(trace, "cpu", "package-0.energy", "J", {10, 110}, "");
  add(trace, "cpu", "package-1.energy", "J", {5, 55}, "");
  add(trace, "cpu", "steal", "s", {1, 1.5}, "");
  add(trace, "cpu", "total", "s", {100, 110}, "");
  add(trace, "cpu", "busy", "s", {50, 56.5}, "");  // steal is part of it
  add(trace, "cpu", "own", "s", {3, 5}, "");
  add(trace, "cgroup", "throttled", "s", {7, 7.25}, "");
  const TelemetrySummary summary =
      summarize_telemetry(trace, {.bytes = 3e9, .seconds = 1, .on_cpu = true});
  EXPECT_TRUE(summary.gpus.empty());
  EXPECT_DOUBLE_EQ(*summary.host.clock_mean_hz, 2.5e9);
  EXPECT_DOUBLE_EQ(*summary.host.energy_joules, 150);
  EXPECT_DOUBLE_EQ(*summary.host.steal_share, 0.05);
  EXPECT_DOUBLE_EQ(*summary.host.others_share, 0.4);
  EXPECT_DOUBLE_EQ(*summary.host.cgroup_throttled_seconds, 0.25);
  EXPECT_DOUBLE_EQ(*summary.joules_per_byte, 150 / 3e9);
  // The CPUs' energy is not the energy of an accelerator's work.
  EXPECT_FALSE(summarize_telemetry(trace, {.bytes = 3e9, .seconds = 1}).joules_per_byte);
}

}  // namespace
}  // namespace assay
