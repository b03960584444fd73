// The model of a server with measured times: what is fitted, and what it is held against.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving/simulator/compared_loads.h"
#include "serving/simulator/measured_times.h"
#include "serving/simulator/workload_run.h"

namespace assay::simulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// 1 ms, 10 us per token, 1 us per cached token, 0.1 us per pair.
double true_seconds(const StepWork& work) {
  return 1e-3 + 1e-5 * work.new_tokens + 1e-6 * work.kv_tokens + 1e-7 * work.prefill_pairs;
}

std::vector<MeasuredPass> measured() {
  std::vector<MeasuredPass> passes;
  for (const double batch : {1., 4., 16., 64.}) {
    for (const double context : {32., 512.}) {
      passes.push_back({true, batch, context, true_seconds({batch, batch, batch * context, 0})});
    }
  }
  for (const double tokens : {64., 256., 1024.}) {
    for (const double batch : {1., 4.}) {
      const double pairs = batch * chunk_pairs(tokens / batch, 0);
      passes.push_back(
          {false, batch, tokens / batch, true_seconds({tokens, batch, tokens, pairs})});
    }
  }
  return passes;
}

TEST(SimMeasuredTimes, AreFittedToPassesAndHoldBetweenThem) {
  const auto times = MeasuredTimes::fit(measured());
  ASSERT_TRUE(times.ok()) << times.error().message;
  EXPECT_LT(times->largest_error(), 1e-6);
  const StepWork mixed = {80, 17, 9000, 5000};
  EXPECT_NEAR(times->seconds(mixed) / true_seconds(mixed), 1, 1e-6);
  const StepWork beyond = {2048, 1, 2048, 0};  // in proportion to the largest
  EXPECT_NEAR(times->seconds(beyond), 2 * (1e-3 + 1e-5 * 1024) + 2048e-6, 1e-9);
}

TEST(SimMeasuredTimes, NeedBothKindsOfPasses) {
  std::vector<MeasuredPass> passes = measured();
  EXPECT_THAT(MeasuredTimes::fit({passes.front()}).error().message, HasSubstr("assay run prefill"));
  EXPECT_THAT(MeasuredTimes::fit({passes.back()}).error().message, HasSubstr("assay run decode"));
}

TEST(SimMeasuredTimes, SeparatePairsFromCachedTokensOnlyIfPassesTellThemApart) {
  EXPECT_TRUE(MeasuredTimes::fit(measured())->separates_pairs());
  // The two passes of 8 new tokens differ in cached tokens and in pairs.
  const auto times = MeasuredTimes::fit({{true, 8, 100, 2e-3}, {false, 1, 8, 1e-3}});
  ASSERT_TRUE(times.ok()) << times.error().message;
  EXPECT_FALSE(times->separates_pairs());
}

Record pass_of(const char* benchmark, const char* model, const char* batch, const char* tokens,
               const char* precision = "bf16", const char* generate = "1") {
  Record record;
  record.cell =
      Cell(benchmark, {{"model", model},
                       {"batch", batch},
                       {std::string(benchmark) == "decode" ? "context" : "prompt", tokens},
                       {"precision", precision},
                       {"generate", generate}});
  record.status = RecordStatus::passed;
  record.value = Value();
  record.value->median = 0.25;
  return record;
}

TEST(SimMeasuredTimes, ComeFromTheRecordsOfOneModel) {
  const std::vector<Record> records = {pass_of("decode", "a", "4", "64"),
                                       pass_of("prefill", "a", "2", "32"),
                                       pass_of("decode", "b", "1", "64")};
  const auto passes = measured_passes(records, "a");
  ASSERT_TRUE(passes.ok());
  ASSERT_EQ(passes->size(), 2u);
  EXPECT_TRUE(passes->front().decodes);
  EXPECT_EQ(passes->front().sequences, 4);
  EXPECT_EQ(passes->back().tokens, 32);
  EXPECT_EQ(passes->back().seconds, 0.25);
  EXPECT_THAT(measured_passes(records, "").error().message, HasSubstr("a, b"));
  EXPECT_THAT(measured_passes(records, "c").error().message, HasSubstr("a, b"));
}

TEST(SimMeasuredTimes, ComeFromRecordsOfOneDeviceAndPrecision) {
  std::vector<Record> records = {pass_of("decode", "a", "4", "64"),
                                 pass_of("prefill", "a", "2", "32", "f32")};
  const auto mixed = measured_passes(records, "a");
  ASSERT_FALSE(mixed.ok());
  EXPECT_THAT(mixed.error().message,
              AllOf(HasSubstr("precision=bf16"), HasSubstr("precision=f32")));
  records[1] = pass_of("prefill", "a", "2", "32");
  EXPECT_TRUE(measured_passes(records, "a").ok());
  records[1].device.name = "another";
  EXPECT_FALSE(measured_passes(records, "a").ok());
}

TEST(SimMeasuredTimes, TakeTheMeanContextOfGeneratedTokens) {
  const auto passes = measured_passes({pass_of("decode", "a", "4", "64", "bf16", "9")}, "a");
  ASSERT_TRUE(passes.ok());
  EXPECT_EQ(passes->front().tokens, 60);
}

EngineSettings calibrated() {
  EngineSettings settings;
  settings.measured = *MeasuredTimes::fit(measured());
  settings.scheduler.blocks = 1000;
  return settings;
}

TEST(SimWorkload, AClosedLoopKeepsSoManyInFlight) {
  const auto workload = poisson_workload(20, 1, 32, 8, 0);
  const auto outcome = run_workload(calibrated(), 1, workload, {.in_flight = 3});
  ASSERT_TRUE(outcome.ok());
  for (std::size_t i = 0; i + 3 <= workload.size(); ++i) {
    const RequestOutcome& request = outcome->requests[i];
    std::size_t beside = 0;
    for (const RequestOutcome& other : outcome->requests) {
      beside += other.arrival <= request.arrival && request.arrival < other.finish;
    }
    EXPECT_EQ(beside, 3u) << i;
  }
}

TEST(SimComparedLoads, HoldPredictionsAgainstRecords) {
  Record record;
  record.cell = Cell("serving", {{"request_rate", "inf"},
                                 {"max_concurrency", "3"},
                                 {"num_prompts", "20"},
                                 {"dataset", "random"},
                                 {"input", "32"},
                                 {"output", "8"}});
  record.status = RecordStatus::passed;
  record.metrics = {{"output_throughput", 100, "tokens/s", Better::higher, "", {}},
                    {"mean_tpot", 0.004, "s", Better::lower, "", {}}};
  const auto compared = compare_loads({record}, calibrated(), 1);
  ASSERT_TRUE(compared.ok()) << compared.error().message;
  ASSERT_EQ(compared->size(), 1u);
  EXPECT_EQ(compared->front().load, "3 in flight");
  ASSERT_EQ(compared->front().figures.size(), 2u);
  const ComparedFigure& throughput = compared->front().figures[0];
  const auto outcome =
      run_workload(calibrated(), 1, poisson_workload(20, 1, 32, 8, 0), {.in_flight = 3}).value();
  double end = 0;
  for (const RequestOutcome& request : outcome.requests) end = std::max(end, request.finish);
  EXPECT_DOUBLE_EQ(throughput.predicted, 160 / end);
  EXPECT_DOUBLE_EQ(throughput.error(), throughput.predicted / 100 - 1);
  record.status = RecordStatus::failed;
  EXPECT_FALSE(compare_loads({record}, calibrated(), 1).ok());
}

TEST(SimComparedLoads, LeaveOutWhatIsNotSimulated) {
  using Axes = std::vector<std::pair<std::string, std::string>>;
  const auto is_left_out = [](const Axes& load, const Axes& more) {
    Axes axes = load;
    axes.insert(axes.end(),
                {{"num_prompts", "5"}, {"dataset", "random"}, {"input", "32"}, {"output", "8"}});
    axes.insert(axes.end(), more.begin(), more.end());
    Record record;
    record.cell = Cell("serving", axes);
    record.status = RecordStatus::passed;
    return !compare_loads({record}, calibrated(), 1).ok();
  };
  const Axes poisson = {{"request_rate", "4"}, {"max_concurrency", "none"}};
  EXPECT_FALSE(is_left_out(poisson, {}));
  EXPECT_FALSE(is_left_out({{"request_rate", "inf"}, {"max_concurrency", "none"}}, {}));
  EXPECT_TRUE(is_left_out({{"request_rate", "4"}, {"max_concurrency", "2"}}, {}));
  for (const auto& [axis, value] : Axes{{"spread", "0.5"},
                                        {"prefix", "64"},
                                        {"stream", "off"},
                                        {"burstiness", "0.5"},
                                        {"ramp_rate", "1:8:linear"}}) {
    EXPECT_TRUE(is_left_out(poisson, {{axis, value}})) << axis;
  }
}

}  // namespace
}  // namespace assay::simulator
