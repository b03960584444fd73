#include "advise/tune/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/random.h"

namespace assay {
namespace {

using testing::ElementsAre;

std::vector<std::size_t> first(std::size_t count) {
  std::vector<std::size_t> contenders(count);
  std::iota(contenders.begin(), contenders.end(), std::size_t{0});
  return contenders;
}

struct RaceRun {
  std::size_t contender, effort;
  bool operator==(const RaceRun&) const = default;
};

std::vector<std::size_t> order_of(const std::vector<Standing>& standings) {
  std::vector<std::size_t> order;
  for (const Standing& one : standings) order.push_back(one.contender);
  return order;
}

/// A race in which each contender's score is its number.
Result<std::vector<Standing>> race_of_numbers(std::size_t count, const RaceRules& rules,
                                              std::vector<RaceRun>& runs) {
  return race(first(count), rules, [&](std::size_t contender, std::size_t effort) {
    runs.push_back({contender, effort});
    return Result<std::optional<double>>(static_cast<double>(contender));
  });
}

TEST(Race, DropsTheWorseHalfAndRunsTheOthersAgainInReverseOrder) {
  std::vector<RaceRun> runs;
  const auto standings = race_of_numbers(4, {}, runs);
  ASSERT_TRUE(standings.ok());
  EXPECT_THAT(order_of(*standings), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(runs,
              ElementsAre(RaceRun{0, 1}, RaceRun{1, 1}, RaceRun{2, 1}, RaceRun{3, 1},  // a pass
                          RaceRun{2, 1}, RaceRun{3, 1}, RaceRun{3, 1}, RaceRun{2, 1}));
  EXPECT_EQ(standings->front().effort, 3u);
  EXPECT_EQ(runs.size(), cost_of_race(4, {}));
}

TEST(Race, LongerRunsTakeTheEffortAtOnce) {
  std::vector<RaceRun> runs;
  const RaceRules rules = {.fraction = 4, .longer_runs = true};
  ASSERT_TRUE(race_of_numbers(16, rules, runs).ok());
  ASSERT_EQ(runs.size(), 20u);
  EXPECT_EQ(runs[15], (RaceRun{15, 1}));
  EXPECT_EQ(runs[16], (RaceRun{12, 4}));
  EXPECT_EQ(cost_of_race(16, rules), 32u);
}

TEST(Race, NoRoundTakesMoreThanTheMostEffort) {
  std::vector<RaceRun> runs;
  const RaceRules rules = {.most_effort = 2};
  const auto standings = race_of_numbers(16, rules, runs);
  ASSERT_TRUE(standings.ok());
  EXPECT_EQ(runs.size(), 16u + 2 * 8u);
  EXPECT_EQ(cost_of_race(16, rules), 32u);
  EXPECT_EQ(standings->size(), 16u);
  EXPECT_EQ(standings->front().contender, 15u);
  EXPECT_EQ(standings->back().contender, 0u);
}

TEST(Race, OneThatFailsIsOutAndComesLast) {
  std::size_t runs_of_5 = 0;
  const auto standings =
      race(first(8), {}, [&](std::size_t contender, std::size_t) -> Result<std::optional<double>> {
        if (contender == 7 || (contender == 5 && ++runs_of_5 > 1)) return std::optional<double>();
        return std::optional(static_cast<double>(contender));
      });
  ASSERT_TRUE(standings.ok());
  EXPECT_THAT(order_of(*standings), ElementsAre(6, 4, 3, 2, 1, 0, 7, 5));
  EXPECT_FALSE(standings->at(7).score.has_value());
  EXPECT_EQ(runs_of_5, 2u);
}

TEST(Race, ThoseThatAreIndistinctFromTheBestGoOn) {
  const auto rounds_of = [&](double indistinct) {
    std::size_t runs = 0;
    const RaceRules rules = {.most_effort = 2, .indistinct = indistinct};
    const auto run = [&](std::size_t contender, std::size_t) {
      ++runs;
      return Result<std::optional<double>>(0.01 * static_cast<double>(contender));
    };
    EXPECT_TRUE(race(first(8), rules, run).ok());
    return runs;
  };
  EXPECT_EQ(rounds_of(0), 8u + 2 * 4u);
  EXPECT_EQ(rounds_of(0.055), 8u + 2 * 6u);  // those 1 to 5 hundredths behind stay
}

TEST(Race, AnErrorEndsIt) {
  std::size_t runs = 0;
  const auto standings =
      race(first(8), {}, [&](std::size_t, std::size_t) -> Result<std::optional<double>> {
        if (++runs == 3) return Error{ErrorKind::interrupted, "stopped"};
        return std::optional(0.0);
      });
  ASSERT_FALSE(standings.ok());
  EXPECT_EQ(standings.error().message, "stopped");
  EXPECT_EQ(runs, 3u);
}

TEST(Race, NobodyOrOneAlone) {
  std::vector<RaceRun> runs;
  EXPECT_EQ(race_of_numbers(0, {}, runs)->size(), 0u);
  EXPECT_EQ(race_of_numbers(1, {}, runs)->size(), 1u);
  EXPECT_EQ(runs.size(), 1u);
}

// 64 contenders, the best 3% ahead, runs with 2% noise: mostly won although the first round has one
// run of each.
TEST(Race, IsWonByTheBestDespiteNoise) {
  Random random(1);
  int won = 0;
  for (int i = 0; i < 200; ++i) {
    const auto standings = race(first(64), {}, [&](std::size_t contender, std::size_t) {
      return Result<std::optional<double>>((contender == 17 ? 0.03 : 0) + 0.02 * random.normal());
    });
    if (standings.ok() && standings->front().contender == 17) ++won;
  }
  EXPECT_GE(won, 150);
}

}  // namespace
}  // namespace assay
