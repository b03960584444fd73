#include "judge/compare/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "support/simulated_family.h"

namespace assay {
namespace {

using testing::HasSubstr;

const double slower_by_a_fifth = std::log(1.2);

std::size_t count_in(const FamilyOutcome& outcome, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count_if(
      outcome.cells, [&](const CellRuling& cell) { return cell.ruling.verdict == verdict; }));
}

FamilyOutcome simulated(const FamilyWorld& world, std::uint64_t seed = 1) {
  Random random(seed);
  return simulate_family(world, random);
}

TEST(Family, AllOfManyCellsThatAreSlowerAreFoundAtTenPairs) {
  for (const std::size_t cells : {1, 26, 98, 300}) {
    const FamilyOutcome outcome =
        simulated({.cells = cells,
                   .paired_noise = 0.001,
                   .slower = std::vector<double>(cells, slower_by_a_fifth)});
    EXPECT_EQ(count_in(outcome, Verdict::slower), cells);
    EXPECT_EQ(outcome.whole.verdict, Verdict::slower);
    if (cells > 1) EXPECT_EQ(outcome.family.mean->ruling.verdict, Verdict::slower);
  }
}

TEST(Family, SixPairsProveWhatIsClear) {
  const FamilyOutcome outcome = simulated({.cells = 16,
                                           .slower = std::vector<double>(16, slower_by_a_fifth),
                                           .least_pairs = 6,
                                           .most_pairs = 6});
  EXPECT_EQ(count_in(outcome, Verdict::slower), 16u);
  EXPECT_EQ(outcome.whole.reason, "16 of 16 cells slower");
}

TEST(Family, OneSlowerCellOfAHundredIsFound) {
  const FamilyOutcome outcome = simulated({.cells = 100, .slower = {slower_by_a_fifth}});
  EXPECT_EQ(outcome.cells[0].ruling.verdict, Verdict::slower);
  EXPECT_EQ(outcome.whole.verdict, Verdict::slower);
  EXPECT_EQ(outcome.whole.reason, "1 of 100 cells slower");
}

TEST(Family, AMeanThatAloneIsClearCarriesTheHeadline) {
  // Each of 200 cells is slower by less than a deviation: no cell is proven, their mean is.
  const FamilyOutcome outcome =
      simulated({.cells = 200, .paired_noise = 0.05, .slower = std::vector<double>(200, 0.03)}, 3);
  ASSERT_EQ(count_in(outcome, Verdict::slower) + count_in(outcome, Verdict::shifted), 0u);
  EXPECT_EQ(outcome.whole.verdict, Verdict::slower);
  EXPECT_EQ(outcome.whole.code, "mean_differs");
  EXPECT_THAT(outcome.whole.reason, HasSubstr("although no cell is proven different by itself"));
}

TEST(Family, CellsInBothDirectionsAreShifted) {
  const FamilyOutcome outcome =
      simulated({.cells = 20, .slower = {slower_by_a_fifth, -slower_by_a_fifth}});
  EXPECT_EQ(outcome.whole.verdict, Verdict::shifted);
  EXPECT_EQ(outcome.whole.reason, "1 of 20 cells slower and 1 of 20 cells faster");
}

TEST(Family, TheMeanWeighsCellsAndNotTheirMetrics) {
  std::vector<PairedMember> members(4);  // three metrics of one cell, one of another
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].cell = i < 3 ? 0 : 1;
    for (std::size_t pair = 0; pair < 10; ++pair) {
      members[i].differences.pairs.push_back(pair);
      members[i].differences.differences.push_back(i < 3 ? 0.3 : 0.1);
    }
  }
  EXPECT_NEAR(judge_family(members, 1, {}).mean->effect.mean, 0.2, 1e-12);
  members[3].differences.pairs.pop_back();
  members[3].differences.differences.pop_back();
  EXPECT_EQ(judge_family(members, 1, {}).mean->effect.pairs, 9u) << "pairs that all cells have";
}

/// Ten pairs whose order was drawn once for two of them are five coins.
TEST(Family, OlderCampaignsNeedTwelvePairs) {
  PairedMember member;
  const auto verdict_of = [&](std::size_t pairs) {
    member.differences = {};
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      member.differences.pairs.push_back(pair);
      member.differences.differences.push_back(0.2 + (pair % 3 == 0 ? 0.001 : -0.001));
    }
    return judge_family({&member, 1}, 2, {}).members[0].ruling;
  };
  EXPECT_EQ(verdict_of(10).code, "too_few_draws");
  EXPECT_EQ(verdict_of(10).more_pairs, 2u);
  EXPECT_EQ(verdict_of(12).verdict, Verdict::slower);
}

TEST(Family, UnpairedCellsAreCorrectedByHolm) {
  Random random(9);
  std::vector<UnpairedMember> members(200);
  for (UnpairedMember& member : members) {
    for (int i = 0; i < 10; ++i) {
      member.a.push_back(0.02 * random.normal());
      member.b.push_back(0.02 * random.normal());
    }
  }
  for (double& value : members[7].b) value += 0.2;
  const JudgedFamily family = judge_family(members, {});
  for (std::size_t i = 0; i < members.size(); ++i) {
    EXPECT_EQ(family.members[i].ruling.verdict, i == 7 ? Verdict::slower : Verdict::inconclusive);
  }
  EXPECT_FALSE(family.mean);
}

TEST(Family, SidesThatDriftAreNotCalledDifferent) {
  const FamilyWorld world{
      .cells = 5, .own_drift = 0.9, .slower = {}, .least_pairs = 40, .most_pairs = 40};
  std::size_t different = 0, open = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const FamilyOutcome outcome = simulated(world, seed);
    different += is_different(outcome.whole.verdict) ? 1 : 0;
    open += outcome.cells[0].ruling.code == "sides_drift" ? 1 : 0;
  }
  EXPECT_LE(different, 2u);
  EXPECT_GE(open, 35u);
}

}  // namespace
}  // namespace assay
