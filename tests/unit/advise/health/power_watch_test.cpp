#include "advise/health/power_watch.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::health {
namespace {

void add(TelemetryTrace& trace, const std::string& quantity, ChannelKind kind,
         std::vector<double> values, const std::string& hardware = "0000:3b:00.0") {
  trace.channels.push_back({"gpu0", quantity, "1", kind, hardware});
  trace.values.push_back(std::move(values));
}

TEST(PowerWatch, ADriverSaysAtEachReadingWhetherPowerIsTheLimit) {
  TelemetryTrace trace;
  trace.seconds = {0, 1, 2, 3, 4};
  trace.window = 4;
  add(trace, "throttled", ChannelKind::gauge, {1, 1, 1, 1, 1});
  EXPECT_FALSE(power_limited_share(trace).has_value());
  add(trace, "power_limited", ChannelKind::gauge, {0, 0, 1, 1, 1});
  EXPECT_DOUBLE_EQ(*power_limited_share(trace), 2.5 / 4);
}

TEST(PowerWatch, FirmwareCountsTheCyclesInWhichPowerWasTheLimit) {
  TelemetryTrace trace;
  trace.seconds = {0, 1, 2};
  trace.window = 2;
  add(trace, "throttle.power", ChannelKind::counter, {10, 20, 60});
  EXPECT_FALSE(power_limited_share(trace).has_value());
  add(trace, "throttle.cycles", ChannelKind::counter, {0, 100, 200});
  EXPECT_DOUBLE_EQ(*power_limited_share(trace), 0.25);
}

TEST(PowerWatch, TheHostSaysNothingAboutAnAccelerator) {
  TelemetryTrace trace;
  trace.seconds = {0, 1};
  trace.window = 1;
  add(trace, "power_limited", ChannelKind::gauge, {1, 1}, "");
  EXPECT_FALSE(power_limited_share(trace).has_value());
}

TEST(PowerWatch, TimeWithoutAReadingIsUnknown) {
  DeviceFacts host;
  host.runs_on_host = true;
  PowerWatch watch(host);
  TelemetryTrace silent;
  silent.window = 3;
  watch.add(silent);
  EXPECT_FALSE(watch.seen().limited_seconds.has_value());
  TelemetryTrace trace;
  trace.seconds = {0, 1};
  trace.window = 1;
  add(trace, "power_limited", ChannelKind::gauge, {1, 1});
  add(trace, "power", ChannelKind::gauge, {700, 700});
  watch.add(trace);
  watch.add(silent);
  EXPECT_EQ(watch.seen().seconds, 7);
  EXPECT_EQ(watch.seen().limited_seconds, 1);
  EXPECT_EQ(watch.seen().unknown_seconds, 6);
  EXPECT_EQ(watch.seen().mean_watts, 700);
}

}  // namespace
}  // namespace assay::health
