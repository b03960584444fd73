// The judgement of a burn-in over its windows and ranks.
#include "advise/health/burn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::health {
namespace {

TEST(Burn, ADriftIsTheChangeOfSpeedInAnHour) {
  BurnRank rank;
  for (int i = 0; i < 6; ++i) {
    rank.windows.push_back({.begin = 600.0 * i, .seconds = 10, .speed = 1 - 0.01 * i});
  }
  const auto drift = drift_per_hour(rank);
  ASSERT_TRUE(drift);
  EXPECT_NEAR(drift->value, -0.06, 1e-9);
  rank.windows.resize(2);
  EXPECT_FALSE(drift_per_hour(rank));
}

TEST(Burn, TheSlowestRankIsThatWithTheLongestTurn) {
  BurnOutcome outcome;
  outcome.ranks = {{.rank = 0, .turn_seconds = 2}};
  EXPECT_FALSE(slowest_of(outcome));
  outcome.ranks.push_back({.rank = 1, .turn_seconds = 2.5});
  outcome.ranks.push_back({.rank = 2, .turn_seconds = 2.1});
  const auto slowest = slowest_of(outcome);
  ASSERT_TRUE(slowest);
  EXPECT_EQ(slowest->first, 1);
  EXPECT_NEAR(slowest->second, 0.25, 1e-9);
}

TEST(Burn, ALoadIsOneOfFive) {
  EXPECT_EQ(*parse_load("memory"), Load::memory);
  EXPECT_THAT(parse_load("links").error().message, testing::HasSubstr("copies, all"));
}

}  // namespace
}  // namespace assay::health
