#include "advise/tune/server_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "serving/results/serving_record.h"
#include "serving/results/serving_result.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ServingResult served(double tokens_per_second, double p99_e2el) {
  ServingResult result;
  result.output_throughput = tokens_per_second;
  result.e2el.n = 1;
  result.e2el.mean = p99_e2el / 2;
  result.e2el.percentiles = {{99, p99_e2el, {}}};
  return result;
}

TEST(ServerTrial, ParametersReplaceWhatIsThereOrAreAdded) {
  const std::vector<std::string> words = {"serve", "--seqs", "4", "--eager", "--tokens=8"};
  EXPECT_EQ(with_parameters(words, {}), words);
  EXPECT_THAT(with_parameters(words, {{"seqs", "16"}, {"tokens", "32"}, {"kv", "fp8"}}),
              ElementsAre("serve", "--seqs", "16", "--eager", "--tokens=32", "--kv", "fp8"));
  const Settings flags = {{"eager", ""}, {"no-cache", ""}, {"VLLM_X", "1"}};
  EXPECT_THAT(with_parameters(words, flags),
              ElementsAre("serve", "--seqs", "4", "--eager", "--tokens=8", "--no-cache"));
  EXPECT_THAT(variables_of(flags), ElementsAre(testing::Pair("VLLM_X", "1")));
  EXPECT_EQ(text_of(flags), "eager no-cache VLLM_X=1");
}

TEST(ServerTrial, LimitsAreRead) {
  const auto limits = parse_latency_limits("p99_e2el:500ms,mean_ttft:2s,p99.9_itl:1s");
  ASSERT_TRUE(limits.ok()) << limits.error().message;
  ASSERT_EQ(limits->size(), 3u);
  EXPECT_EQ(limits->at(0).name, "p99_e2el");
  EXPECT_EQ(limits->at(0).percent, 99);
  EXPECT_DOUBLE_EQ(limits->at(0).seconds, 0.5);
  EXPECT_FALSE(limits->at(1).percent.has_value());
  EXPECT_EQ(limits->at(2).percent, 99.9);
  for (const char* bad :
       {"", "p99_e2el", "p99:1s", "e2el:1s", "p100_e2el:1s", "p_e2el:1s", "99_itl:1s", "p99_x:1s",
        "p99_e2el:1", "p99_e2el:1s,", "p9x_e2el:1s", ":_", "_e2el:1s"}) {
    EXPECT_FALSE(parse_latency_limits(bad).ok()) << bad;
  }
}

TEST(ServerTrial, AScoreBeyondALimitDoesNotCount) {
  const auto limits = parse_latency_limits("mean_e2el:400ms,p99_e2el:500ms");
  ASSERT_TRUE(limits.ok());
  const auto score = [](const ServingResult& result, std::span<const LatencyLimit> kept) {
    return score_of(serving_record(result, {}), kept);
  };
  EXPECT_TRUE(score(served(100, 0.4), *limits).counts());
  EXPECT_NEAR(*score(served(100, 0.4), *limits).score, std::log(100), 1e-12);
  const TrialScore missed = score(served(100, 0.6), *limits);
  EXPECT_NEAR(*missed.score, std::log(100), 1e-12);
  EXPECT_FALSE(missed.counts());
  EXPECT_EQ(missed.problem, "p99_e2el 600.0 ms is above 500.0 ms");
  ServingResult result = served(100, 0.4);
  result.goodput = 7;
  EXPECT_NEAR(*score(result, {}).score, std::log(7), 1e-12);
  result.goodput = 0;
  EXPECT_FALSE(score(result, {}).score);
  EXPECT_EQ(score(result, {}).problem, "no request met the limits of --goodput");
  result = served(100, 0.4);
  result.verdict.server_reasons = {"the client was the limit"};
  EXPECT_FALSE(score(result, {}).score);
  EXPECT_EQ(score(result, {}).problem, "void: the client was the limit");
  result = served(100, 0.4);
  result.verdict.late = "sent late";
  EXPECT_EQ(score(result, {}).problem, "void: sent late");
  result = served(100, 0.4);
  result.e2el.percentiles.clear();
  EXPECT_FALSE(score(result, *limits).counts());
  Record failed;
  failed.reason = "the server ended";
  EXPECT_EQ(score_of(failed, {}).problem, "the server ended");
}

/// The names of limits are those of metrics, but for what a metric's name cannot have.
TEST(ServerTrial, LimitsAreFoundInRecords) {
  ServingResult result = served(100, 0.4);
  result.ttft.n = 1;
  result.ttft.median = 0.2;
  result.ttft.percentiles = {{50, 0.2, {}}, {99.9, 0.3, {}}};
  const Record record = serving_record(result, {});
  for (const char* kept : {"p50_ttft:200ms", "p99.90_ttft:300ms", "mean_ttft:1s"}) {
    EXPECT_TRUE(score_of(record, *parse_latency_limits(kept)).counts()) << kept;
  }
  for (const char* missed : {"p50_ttft:199ms", "p99.9_ttft:299ms", "mean_itl:1s"}) {
    EXPECT_FALSE(score_of(record, *parse_latency_limits(missed)).counts()) << missed;
  }
}

}  // namespace
}  // namespace assay
