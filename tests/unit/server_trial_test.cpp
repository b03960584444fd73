#include "tune/server_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ServingResult served(double tokens_per_second, double p99_e2el) {
  ServingResult result;
  result.output_throughput = tokens_per_second;
  result.e2el.mean = p99_e2el / 2;
  result.e2el.percentiles = {{99, p99_e2el, {}}};
  return result;
}

ServerTrial trial_of(std::optional<double> value, std::string problem = "") {
  return {{}, {value, std::move(problem)}, {}};
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

TEST(ServerTrial, ASettingIsAParameterAVariableOrAFlag) {
  const auto values = parse_server_setting("max-num-seqs=128,256");
  ASSERT_TRUE(values.ok());
  ASSERT_EQ(values->size(), 2u);
  EXPECT_EQ(values->at(1).value, "256");
  const auto flag = parse_server_setting("enable-chunked-prefill");
  ASSERT_TRUE(flag.ok());
  ASSERT_EQ(flag->size(), 1u);
  EXPECT_EQ(flag->at(0).value, "");
  EXPECT_FALSE(parse_server_setting("VLLM_X").ok());  // a variable without a value
  EXPECT_FALSE(parse_server_setting("a=").ok());
}

TEST(ServerTrial, LimitsAreRead) {
  const auto limits = parse_latency_limits("p99_e2el:500ms,mean_ttft:2s,p99.9_itl:1s");
  ASSERT_TRUE(limits.ok()) << limits.error().message;
  ASSERT_EQ(limits->size(), 3u);
  EXPECT_EQ(limits->at(0).name, "p99_e2el");
  EXPECT_EQ(limits->at(0).percent, 99);
  EXPECT_DOUBLE_EQ(limits->at(0).seconds, 0.5);
  EXPECT_EQ(limits->at(1).of, LatencyLimit::Of::ttft);
  EXPECT_FALSE(limits->at(1).percent.has_value());
  EXPECT_EQ(limits->at(2).percent, 99.9);
  for (const char* bad :
       {"", "p99_e2el", "p99:1s", "e2el:1s", "p100_e2el:1s", "p_e2el:1s", "99_itl:1s", "p99_x:1s",
        "p99_e2el:1", "p99_e2el:1s,", "p9x_e2el:1s", ":_"}) {
    EXPECT_FALSE(parse_latency_limits(bad).ok()) << bad;
  }
}

TEST(ServerTrial, AScoreBeyondALimitDoesNotCount) {
  const auto limits = parse_latency_limits("mean_e2el:400ms,p99_e2el:500ms");
  ASSERT_TRUE(limits.ok());
  EXPECT_TRUE(score_of(served(100, 0.4), *limits).counts());
  const ServerScore missed = score_of(served(100, 0.6), *limits);
  EXPECT_EQ(missed.value, 100);
  EXPECT_FALSE(missed.counts());
  EXPECT_EQ(missed.problem, "p99_e2el 600.0 ms is above 500.0 ms");
  ServingResult result = served(100, 0.4);
  result.goodput = 7;
  EXPECT_EQ(score_of(result, {}).value, 7);
  result.goodput = 0;
  EXPECT_FALSE(score_of(result, {}).value.has_value());
  result = served(100, 0.4);
  result.verdict.server_reasons = {"the client was the limit"};
  EXPECT_FALSE(score_of(result, {}).value.has_value());
  EXPECT_THAT(score_of(result, {}).problem, HasSubstr("the client was the limit"));
  result = served(100, 0.4);
  result.e2el.percentiles.clear();
  EXPECT_FALSE(score_of(result, *limits).counts());
}

TEST(ServerTrial, TheBestIsTheHighestThatCounts) {
  EXPECT_EQ(best_of(std::vector{trial_of(10), trial_of(10), trial_of(9)}), 0u);
  EXPECT_EQ(best_of(std::vector{trial_of(10), trial_of(30, "too slow"), trial_of(20)}), 2u);
  EXPECT_EQ(best_of(std::vector{trial_of(10, "too slow"), trial_of(5)}), 1u);
  EXPECT_EQ(best_of(std::vector{trial_of(10, "too slow"), trial_of({}, "died")}), std::nullopt);
}

TEST(ServerTrial, AProofNeedsAnIntervalAboveOneOrALimitThatOnlyTheBestKeeps) {
  const auto pair = [](double as_it_is, double best) {
    return ServerPair{{as_it_is, ""}, {best, ""}};
  };
  // Three clear pairs pass Student's t, but the rule of comparisons asks for six.
  const std::vector three = {pair(10, 12), pair(11, 13), pair(10, 12.1)};
  EXPECT_FALSE(prove(three).proven);
  EXPECT_NEAR(prove(three).speed.ratio, std::cbrt(1.2 * 13 / 11 * 1.21), 1e-12);
  std::vector six = three;
  six.insert(six.end(), three.begin(), three.end());
  EXPECT_TRUE(prove(six).proven);
  EXPECT_GT(prove(six).speed.interval95.low, 1);
  std::vector mixed = six;
  mixed[1] = pair(10, 9);
  mixed[4] = pair(10, 8);
  EXPECT_FALSE(prove(mixed).proven);
  EXPECT_FALSE(prove(std::span<const ServerPair>{}).proven);
  const ServerPair limit{{20, "too slow"}, {10, ""}};
  EXPECT_TRUE(prove(std::vector(6, limit)).proven);
  EXPECT_FALSE(prove(std::vector(5, limit)).proven);
  EXPECT_EQ(prove(std::vector(6, limit)).kept_as_it_is, 0u);
  std::vector missed = six;
  missed.push_back({{10, ""}, {12, "too slow"}});
  EXPECT_FALSE(prove(missed).proven);
  std::vector failed = six;
  failed.push_back({{10, ""}, {{}, "died"}});
  EXPECT_EQ(prove(failed).speed.pairs, 6u);
  EXPECT_EQ(prove(failed).kept_best, 6u);
  EXPECT_FALSE(prove(failed).proven);
}

}  // namespace
}  // namespace assay
