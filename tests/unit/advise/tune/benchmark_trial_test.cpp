#include "advise/tune/benchmark_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

using testing::HasSubstr;

Record measured(const char* size, Quantity quantity, double value) {
  Record record;
  record.cell = with_setting(Cell("copy", {{"size", size}}), {{"X", "1"}});
  record.status = RecordStatus::passed;
  record.value.emplace();
  record.value->quantity = quantity;
  record.value->median = value;
  return record;
}

TEST(BenchmarkTrial, TheScoreIsOverAllCells) {
  BenchmarkScore score;
  EXPECT_NEAR(
      *score({measured("1KiB", Quantity::bandwidth, 10), measured("1MiB", Quantity::latency, 0.01)})
           .score,
      std::log(std::sqrt(1000.0)), 1e-12);
  EXPECT_NEAR(
      *score({measured("1KiB", Quantity::bandwidth, 10), measured("1MiB", Quantity::latency, 0.02)})
           .score,
      std::log(std::sqrt(500.0)), 1e-12);
  // A setting with which a cell fails is no candidate.
  Record failed = measured("1MiB", Quantity::latency, 0.01);
  failed.status = RecordStatus::failed;
  failed.reason = "wrong result";
  const TrialScore partly = score({measured("1KiB", Quantity::bandwidth, 10), failed});
  EXPECT_FALSE(partly.score);
  EXPECT_EQ(partly.problem, "copy size=1MiB: wrong result");
  EXPECT_EQ(score({measured("1KiB", Quantity::bandwidth, 10)}).problem,
            "copy size=1MiB was not measured");
}

/// What the usual run was not come to would be forgotten otherwise.
TEST(BenchmarkTrial, OnlyWhatADeviceDoesNotSupportMayBeMissing) {
  Record missing = measured("1MiB", Quantity::latency, 0.01);
  missing.value.reset();
  missing.reason = "the budget was spent";
  for (const RecordStatus status :
       {RecordStatus::failed, RecordStatus::error, RecordStatus::interrupted}) {
    missing.status = status;
    const TrialScore score = BenchmarkScore()({measured("1KiB", Quantity::bandwidth, 10), missing});
    EXPECT_EQ(score.problem, "copy size=1MiB: the budget was spent");
  }
  missing.status = RecordStatus::unsupported;
  EXPECT_TRUE(BenchmarkScore()({measured("1KiB", Quantity::bandwidth, 10), missing}).counts());
  EXPECT_EQ(BenchmarkScore()({missing}).problem, "copy size=1MiB: the budget was spent");
}

TEST(BenchmarkTrial, ACellIsTheSameWithEverySetting) {
  const Cell cell("copy", {{"size", "1KiB"}});
  EXPECT_EQ(with_setting(cell, {}).id(), "copy size=1KiB setting=unchanged");
  EXPECT_EQ(without_axis(with_setting(cell, {{"X", "1"}, {"Y", "2"}}), setting_axis), cell);
}

TEST(BenchmarkTrial, TimesOfAModelAreUseless) {
  Record record = measured("1KiB", Quantity::bandwidth, 10);
  record.device.emulated = true;
  EXPECT_THAT(BenchmarkScore()({record}).problem, HasSubstr("useless for tuning"));
}

}  // namespace
}  // namespace assay
