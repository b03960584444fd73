#include "results/store/telemetry_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "results/store/record_json.h"
#include "support/test_record.h"

namespace assay {
namespace {

Telemetry example() {
  Telemetry telemetry;
  TelemetryTrace& trace = telemetry.trace;
  trace.interval = 0.1;
  trace.window = 0.25;
  trace.seconds = {-0.05, 0.05, 0.3};
  trace.channels = {{"gpu0", "clock.xcd3", "Hz", ChannelKind::gauge, "0000:3b:00.0"},
                    {"cpu", "steal", "s", ChannelKind::counter, ""},
                    {"cpu", "never", "1", ChannelKind::gauge, ""}};
  const double nan = std::nan("");
  trace.values = {{2e9, 1.9e9, 2e9}, {1, nan, 2}, {nan, nan, nan}};
  trace.cost = {5, 1, 0.002, 0.0005};
  GpuTelemetry gpu;
  gpu.clock_mean_hz = 1.95e9;
  gpu.throttled_share = 0.5;
  gpu.energy_joules = 100;
  gpu.energy_source = "counter";
  telemetry.summary.gpus = {{"gpu0", gpu}};
  telemetry.summary.host.steal_share = 0.01;
  telemetry.summary.joules_per_byte = 1e-10;
  return telemetry;
}

TEST(TelemetryJson, SurvivesTheRoundTripAsPartOfARecord) {
  Record record = passed_record();
  record.telemetry = example();
  const Json json = Json::parse(to_json(record).dump());
  const auto read = record_from_json(json);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_json(*read).dump(), json.dump());
  const TelemetryTrace& trace = read->telemetry->trace;
  ASSERT_EQ(trace.channels.size(), 2u);  // a channel that was never read is left out
  EXPECT_EQ(trace.channels[0].device, "gpu0");
  EXPECT_EQ(trace.channels[0].quantity, "clock.xcd3");
  EXPECT_EQ(trace.channels[1].kind, ChannelKind::counter);
  EXPECT_TRUE(std::isnan(trace.values[1][1]));
  EXPECT_EQ(trace.cost.missed, 1u);
  EXPECT_EQ(read->telemetry->summary.gpus[0].second.throttled_share, 0.5);
  EXPECT_FALSE(read->telemetry->summary.gpus[0].second.power_mean_watts);
  EXPECT_FALSE(to_json(passed_record()).contains("telemetry"));
}

/// The error of the good object after `change`.
std::string telemetry_error_after(const std::function<void(Json&)>& change) {
  Record record = passed_record();
  record.telemetry = example();
  Json json = to_json(record);
  change(json["telemetry"]);
  const auto read = record_from_json(json);
  return read.ok() ? "accepted" : read.error().message;
}

TEST(TelemetryJson, ReadingsMayHaveBeenRemoved) {
  Record record = passed_record();
  record.telemetry = example();
  Json json = to_json(record);
  json["telemetry"].erase("seconds");
  json["telemetry"].erase("channels");
  const auto read = record_from_json(json);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->telemetry->trace.seconds.empty());
  EXPECT_EQ(read->telemetry->summary.host.steal_share, 0.01);
}

TEST(TelemetryJson, NothingIsTrusted) {
  EXPECT_EQ(telemetry_error_after([](Json& j) { j.erase("seconds"); }),
            "field telemetry.seconds must be an array");
  EXPECT_EQ(telemetry_error_after([](Json& j) { j = 5; }), "field telemetry must be an object");
  EXPECT_EQ(telemetry_error_after([](Json& j) { j.erase("cost"); }),
            "field telemetry.cost is missing");
  EXPECT_EQ(telemetry_error_after([](Json& j) { j["seconds"] = "now"; }),
            "field telemetry.seconds must be an array");
  EXPECT_EQ(telemetry_error_after([](Json& j) { j["seconds"].push_back(true); }),
            "field telemetry.seconds must contain only numbers and null");
  EXPECT_EQ(
      telemetry_error_after([](Json& j) { j["channels"]["cpu.steal"]["values"].push_back(1); }),
      "field telemetry.channels.cpu.steal.values must have the same length as telemetry.seconds");
  EXPECT_EQ(telemetry_error_after([](Json& j) { j["channels"]["cpu.steal"]["kind"] = "dial"; }),
            "field telemetry.channels.cpu.steal.kind must be gauge or counter");
  EXPECT_EQ(
      telemetry_error_after([](Json& j) { j["channels"]["steal"] = j["channels"]["cpu.steal"]; }),
      "field telemetry.channels.steal must be named device.quantity");
  EXPECT_EQ(telemetry_error_after([](Json& j) { j["summary"]["gpus"]["gpu0"] = 1; }),
            "field telemetry.summary.gpus.gpu0 must be an object");
  EXPECT_EQ(telemetry_error_after([](Json& j) { j["summary"]["host"]["steal_share"] = "much"; }),
            "field telemetry.summary.host.steal_share must be a number");
}

}  // namespace
}  // namespace assay
