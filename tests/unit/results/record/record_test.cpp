#include "results/record/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "results/store/comparable_metrics.h"
#include "results/store/record_json.h"
#include "support/test_record.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(Record, EveryFieldSurvivesTheRoundTrip) {
  const Json json = to_json(passed_record());
  const auto read = record_from_json(Json::parse(json.dump()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(to_json(*read).dump(), json.dump());
  EXPECT_EQ(read->cell, passed_record().cell);
  EXPECT_EQ(read->samples->samples[0].clock_hz, 1.9e9);
  EXPECT_FALSE(read->samples->samples[1].clock_hz.has_value());
  EXPECT_TRUE(read->samples->samples[1].throttled);
  EXPECT_EQ(read->value->roof->source, "datasheet");
  EXPECT_EQ(read->device.memory_bus_bits, 5120);
}

TEST(Record, ThrottledSamplesAreNamedByTheirIndices) {
  Json json = to_json(passed_record());
  EXPECT_EQ(json["samples"]["throttled"].dump(), "[1]");
  const auto flags_read = [&](const char* throttled) {
    json["samples"]["throttled"] = Json::parse(throttled);
    const auto read = record_from_json(json);
    std::vector<bool> flags;
    EXPECT_TRUE(read.ok()) << throttled;
    if (!read.ok()) return flags;
    for (const Sample& sample : read->samples->samples) flags.push_back(sample.throttled);
    return flags;
  };
  EXPECT_EQ(flags_read("[]"), (std::vector{false, false}));
  EXPECT_EQ(flags_read("[0]"), (std::vector{true, false}));
  EXPECT_EQ(flags_read("[false,true]"), (std::vector{false, true})) << "as earlier versions wrote";
}

TEST(Record, MissingIsMissingAndNeverZero) {
  const Json json = to_json(unsupported_record("1TiB", "too large"));
  for (const char* key : {"value", "work", "samples", "seconds", "verification"}) {
    EXPECT_FALSE(json.contains(key)) << key;
  }
  EXPECT_FALSE(json["device"].contains("memory_bytes"));
  EXPECT_FALSE(json["device"].contains("pci"));
  EXPECT_FALSE(json["device"].contains("clock_hz"));
  const auto read = record_from_json(json);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->reason, "too large");
  EXPECT_FALSE(read->work.has_value());
}

TEST(Record, ValuesAreInSiUnits) {
  const Json json = to_json(passed_record("1GiB", 1e-3));
  EXPECT_EQ(json["value"]["unit"], "bytes/s");
  EXPECT_DOUBLE_EQ(json["value"]["median"].get<double>(), 3e12);
  EXPECT_DOUBLE_EQ(json["value"]["share"].get<double>(), 3e12 / 4.8e12);
  EXPECT_DOUBLE_EQ(json["samples"]["seconds"][0].get<double>(), 1e-3);
}

/// A record of another program with one metric.
Record reported_record() {
  Record record = unsupported_record("1MiB", "");
  record.status = RecordStatus::passed;
  record.source = Source{"program", "1", "", 0};
  record.metrics = {{"mean_ttft", 2, "s", Better::lower, "", Interval{1.5, 3}}};
  return record;
}

TEST(Record, AMetricHasAnIntervalOrNone) {
  Record record = reported_record();
  EXPECT_EQ(to_json(record)["metrics"][0]["interval95"], Json::parse("[1.5,3.0]"));
  auto read = record_from_json(to_json(record));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->metrics[0].interval95->low, 1.5);
  EXPECT_EQ(figures_of(*read)[0].interval95.high, 3);
  record.metrics[0].interval95.reset();
  EXPECT_FALSE(to_json(record)["metrics"][0].contains("interval95"));
  read = record_from_json(to_json(record));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(read->metrics[0].interval95);
  EXPECT_EQ(figures_of(*read)[0].interval95.high, 2);
}

TEST(Record, AnInvalidIntervalIsRefused) {
  for (const auto& [text, message] : {std::pair{"[1]", "must be two numbers"},
                                      {"[null,3]", "must be two numbers"},
                                      {"[3,1]", "does not hold the value"},
                                      {"[2.5,3]", "does not hold the value"}}) {
    Json json = to_json(reported_record());
    json["metrics"][0]["interval95"] = Json::parse(text);
    const auto read = record_from_json(json);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().message, std::string("field metrics.interval95 ") + message);
  }
}

TEST(Record, AWrongResultMayBeNotANumber) {
  Record record = unsupported_record("1MiB", "wrong");
  record.status = RecordStatus::failed;
  record.verification = Verification{false, "every element", std::nan(""), 1e-6, "c[0] is nan"};
  const Json json = Json::parse(to_json(record).dump());
  EXPECT_TRUE(json["verification"]["error"].is_null());
  const auto read = record_from_json(json);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(std::isnan(read->verification->error));
}

/// The error of a good record after `change`.
std::string error_after(const std::function<void(Json&)>& change) {
  Json json = to_json(passed_record());
  change(json);
  const auto read = record_from_json(json);
  return read.ok() ? "accepted" : read.error().message;
}

TEST(Record, NothingIsTrusted) {
  EXPECT_EQ(error_after([](Json& j) { j = Json::array(); }), "not a JSON object");
  EXPECT_EQ(error_after([](Json& j) { j.erase("run"); }), "field run is missing");
  EXPECT_EQ(error_after([](Json& j) { j["schema"] = 2; }),
            "field schema is not 1, the only version this assay reads");
  EXPECT_EQ(error_after([](Json& j) { j["axes"]["size"] = 5; }),
            "field axes \"size\" must be text");
  EXPECT_EQ(error_after([](Json& j) { j["status"] = "great"; }),
            "field status must be one of passed, failed, error, unsupported, interrupted");
  EXPECT_EQ(error_after([](Json& j) { j.erase("value"); }),
            "field value is required if status is passed; with a source, metrics are required");
  EXPECT_EQ(error_after([](Json& j) { j["status"] = "failed"; }),
            "field value is allowed only if status is passed");
  EXPECT_EQ(error_after([](Json& j) { j["value"]["interval95"] = {1}; }),
            "field value.interval95 must be two numbers");
  EXPECT_EQ(error_after([](Json& j) { j["samples"]["seconds"].push_back(1); }),
            "field samples.clock_hz must be an array of the same length as seconds");
  EXPECT_EQ(error_after([](Json& j) { j["samples"]["seconds"][0] = "1"; }),
            "field samples.seconds must contain only numbers");
  for (const char* throttled : {"[2]", "[-1]", "[0.5]", "[true]", "[true,0]", "[false,\"1\"]"}) {
    EXPECT_EQ(error_after([&](Json& j) { j["samples"]["throttled"] = Json::parse(throttled); }),
              "field samples.throttled must hold indices of samples, each below 2")
        << throttled;
  }
  EXPECT_EQ(error_after([](Json& j) { j["samples"]["throttled"] = 1; }),
            "field samples.throttled must be an array");
  EXPECT_EQ(error_after([](Json& j) { j["samples"]["warmup_launches"] = -1; }),
            "field samples.warmup_launches must be a whole number, not negative");
  EXPECT_EQ(error_after([](Json& j) { j["work"]["math"] = "f31"; }),
            "field work.math is not a data type");
  EXPECT_EQ(error_after([](Json& j) { j["device"] = 1; }), "field device must be an object");
  EXPECT_EQ(error_after([](Json& j) { j["device"]["ordinal"] = 1e12; }),
            "field device.ordinal must be a whole number, not negative");
  EXPECT_EQ(error_after([](Json& j) { j["device"]["ordinal"] = 99999999999; }),
            "field device.ordinal is too large");
}

}  // namespace
}  // namespace assay
