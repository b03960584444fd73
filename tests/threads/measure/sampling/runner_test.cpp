#include "measure/sampling/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "compute/device/backend.h"
#include "measure/sampling/derive_value.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

Summary seconds_around(double median) {
  Summary summary;
  summary.n = 30;
  summary.median = median;
  summary.interval95 = {median * 0.9, median * 1.25};
  return summary;
}

DeviceFacts unknown_device() {
  DeviceFacts facts;
  facts.backend = "fake";
  return facts;
}

TEST(Value, RatesAreOfOneRepetition) {
  const Work work{.bytes = 1000, .flops = 4000, .repetitions = 10};
  const Value bandwidth =
      value_of(seconds_around(2), work, Quantity::bandwidth, Limit::none, unknown_device());
  EXPECT_DOUBLE_EQ(bandwidth.median, 50);  // 1000 bytes / 10 / 2 s
  EXPECT_DOUBLE_EQ(bandwidth.interval95.low, 40);
  EXPECT_DOUBLE_EQ(bandwidth.interval95.high, 100 / 1.8);
  EXPECT_FALSE(bandwidth.share.has_value());
  EXPECT_DOUBLE_EQ(
      value_of(seconds_around(2), work, Quantity::flop_rate, Limit::none, unknown_device()).median,
      200);
}

TEST(Value, LatenciesAreTheSeconds) {
  const Value value = value_of(seconds_around(2), {.repetitions = 10}, Quantity::latency,
                               Limit::none, unknown_device());
  EXPECT_DOUBLE_EQ(value.median, 2);
  EXPECT_DOUBLE_EQ(value.interval95.low, 1.8);
}

TEST(Limits, ACellsShareBoundsWarmUpAndSamples) {
  const SamplingLimits plenty = limits_within({}, 1000);
  EXPECT_DOUBLE_EQ(plenty.time_box_seconds, SamplingLimits{}.time_box_seconds);
  EXPECT_DOUBLE_EQ(plenty.warmup_seconds, SamplingLimits{}.warmup_seconds);
  const SamplingLimits tight = limits_within({}, 1);
  EXPECT_DOUBLE_EQ(tight.time_box_seconds, 0.5);
  EXPECT_DOUBLE_EQ(tight.warmup_seconds, 0.2);
  EXPECT_DOUBLE_EQ(tight.budget_seconds, 1);
  EXPECT_GT(limits_within({}, -5).time_box_seconds, 0);
}

TEST(RunId, SortsByTime) {
  EXPECT_THAT(new_run_id(), MatchesRegex("[0-9]{8}T[0-9]{6}Z-[0-9a-f]{12}"));
  EXPECT_THAT(utc_now(), MatchesRegex("[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}Z"));
}

/// Keeps the records; asks to stop after `stop_after` cells.
class Collector final : public RunObserver {
 public:
  void starting(std::size_t, const Cell& cell) override { started.push_back(cell.id()); }
  Status finished(std::size_t, Record record) override {
    records.push_back(std::move(record));
    if (records.size() == fail_at) return Error{ErrorKind::exhausted, "disk full"};
    return {};
  }
  bool stop_requested() override { return records.size() >= stop_after; }
  void hung(std::size_t, Record record) override { ADD_FAILURE() << record.reason; }

  std::vector<std::string> started;
  std::vector<Record> records;
  std::size_t stop_after = 1000, fail_at = 0;
};

class RunnerTest : public testing::Test {
 protected:
  void open(const char* script) {
    ::setenv("ASSAY_FAKE", script, 1);
    backends_ = make_backends();
    auto device = open_device(backends_, "fake");
    ASSERT_TRUE(device.ok()) << device.error().message;
    device_ = std::move(device).value();
  }
  Result<RunOutcome> run(const std::vector<std::pair<const char*, const char*>>& cells,
                         std::optional<double> budget = {}) {
    std::vector<Cell> list;
    for (const auto& [op, size] : cells) {
      list.emplace_back("memory",
                        std::vector<std::pair<std::string, std::string>>{
                            {"op", op}, {"dtype", "f64"}, {"size", size}, {"cache", "hot"}});
    }
    RunOptions options;
    options.run = "r1";
    options.fingerprint = "f1";
    options.budget_seconds = budget;
    options.limits.most_samples = 40;
    return run_cells(list, *device_, options, collector_);
  }

  std::vector<std::unique_ptr<Backend>> backends_;
  std::unique_ptr<Device> device_;
  Collector collector_;
};

TEST_F(RunnerTest, MeasuresVerifiesAndRecordsInOrder) {
  open("");
  const auto outcome = run({{"copy", "1MiB"}, {"triad", "1MiB"}});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->measured, 2u);
  EXPECT_FALSE(outcome->interrupted);
  ASSERT_EQ(collector_.records.size(), 2u);
  const Record& record = collector_.records[1];
  EXPECT_EQ(record.cell.text("op"), "triad");
  EXPECT_EQ(record.run, "r1");
  EXPECT_EQ(record.fingerprint, "f1");
  EXPECT_EQ(record.status, RecordStatus::passed) << record.reason;
  EXPECT_TRUE(record.verification->passed);
  EXPECT_GT(record.value->median, 0);
  EXPECT_FALSE(record.samples->samples.empty());
}

TEST_F(RunnerTest, AWrongResultHasNoValue) {
  open("corrupt=1");
  ASSERT_TRUE(run({{"copy", "1MiB"}}).ok());
  const Record& record = collector_.records.at(0);
  EXPECT_EQ(record.status, RecordStatus::failed);
  EXPECT_FALSE(record.value.has_value());
  EXPECT_FALSE(record.reason.empty());
  EXPECT_TRUE(record.seconds.has_value());  // the samples are kept
}

TEST_F(RunnerTest, AnUnsupportedCellDoesNotStopTheOthers) {
  open("");
  ASSERT_TRUE(run({{"copy", "1TiB"}, {"copy", "1MiB"}}).ok());
  EXPECT_EQ(collector_.records.at(0).status, RecordStatus::unsupported);
  EXPECT_FALSE(collector_.records.at(0).samples.has_value());
  EXPECT_EQ(collector_.records.at(1).status, RecordStatus::passed);
}

TEST_F(RunnerTest, AFailingCallIsAnErrorOfItsCellOnly) {
  open("fail_at=1");
  ASSERT_TRUE(run({{"copy", "1MiB"}, {"copy", "2MiB"}}).ok());
  EXPECT_EQ(collector_.records.at(0).status, RecordStatus::error);
  EXPECT_FALSE(collector_.records.at(0).value.has_value());
  EXPECT_EQ(collector_.records.at(1).status, RecordStatus::passed);
}

TEST_F(RunnerTest, StopsBetweenCells) {
  open("");
  collector_.stop_after = 1;
  const auto outcome = run({{"copy", "1MiB"}, {"copy", "2MiB"}});
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_EQ(collector_.started.size(), 1u);
}

TEST_F(RunnerTest, CellsAfterTheBudgetSaySo) {
  open("sleep=0.002");
  ASSERT_TRUE(
      run({{"copy", "1MiB"}, {"copy", "2MiB"}, {"copy", "4MiB"}, {"copy", "8MiB"}}, 0.05).ok());
  const Record& last = collector_.records.back();
  EXPECT_EQ(last.status, RecordStatus::interrupted);
  EXPECT_EQ(last.reason, "the budget of 50.00 ms was spent before this cell");
}

TEST_F(RunnerTest, AnObserversErrorEndsTheRun) {
  open("");
  collector_.fail_at = 1;
  const auto outcome = run({{"copy", "1MiB"}, {"copy", "2MiB"}});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message, "disk full");
}

TEST_F(RunnerTest, UnknownBenchmarksAreRefusedBeforeAnythingRuns) {
  open("");
  EXPECT_FALSE(run_cells({Cell("none", {})}, *device_, {}, collector_).ok());
}

}  // namespace
}  // namespace assay
