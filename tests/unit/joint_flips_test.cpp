#include "statistics/joint_flips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/random.h"

namespace assay {
namespace {

using testing::Each;
using testing::ElementsAre;

FlippedSeries series(std::vector<double> differences) {
  FlippedSeries all;
  all.coins.resize(differences.size());
  std::iota(all.coins.begin(), all.coins.end(), std::size_t{0});
  all.differences = std::move(differences);
  return all;
}

std::vector<double> test_of(const std::vector<FlippedSeries>& family, Flips side = Flips::either,
                            double bound = 0) {
  return joint_flip_test(family, side, bound, 6, 1);
}

TEST(JointFlips, OneSeriesHasTheShareOfFlipsThatAreAsExtreme) {
  // All of one sign: only no flip and all flips have so large a sum.
  const FlippedSeries ten = series({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_DOUBLE_EQ(test_of({ten})[0], 2.0 / 1024);
  EXPECT_DOUBLE_EQ(test_of({ten}, Flips::above)[0], 1.0 / 1024);
  EXPECT_DOUBLE_EQ(test_of({ten}, Flips::below)[0], 1);
  // 1 + ... + 10 = 55 and one of two is negative: sums of at least 53 have none or the 1 flipped.
  EXPECT_DOUBLE_EQ(test_of({series({-1, 2, 3, 4, 5, 6, 7, 8, 9, 10})})[0], 4.0 / 1024);
}

TEST(JointFlips, ManyCellsThatAllDifferAreAllFound) {
  Random random(7);
  std::vector<FlippedSeries> family;
  for (int cell = 0; cell < 1000; ++cell) {
    std::vector<double> d(10);
    for (double& value : d) value = 0.18 + 0.01 * random.normal();
    family.push_back(series(d));
  }
  EXPECT_THAT(test_of(family), Each(testing::Le(2.0 / 1024 + 1e-12)));
  EXPECT_THAT(test_of(family, Flips::above, std::log(1.02)), Each(testing::Le(1.0 / 1024 + 1e-12)));
}

TEST(JointFlips, AFamilyOfEqualCellsIsCalledDifferentInOneCaseOfTwenty) {
  constexpr int campaigns = 1000;
  int wrong = 0;
  for (int campaign = 0; campaign < campaigns; ++campaign) {
    Random random(static_cast<std::uint64_t>(campaign) + 1);
    std::vector<FlippedSeries> family;
    std::vector<double> shared(10);
    for (double& value : shared) value = random.normal();
    for (int cell = 0; cell < 20; ++cell) {
      std::vector<double> d(10);
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = shared[i] + random.normal();
      family.push_back(series(d));
    }
    const std::vector<double> p = test_of(family);
    wrong += std::any_of(p.begin(), p.end(), [](double value) { return value <= 0.05; }) ? 1 : 0;
  }
  // Three standard deviations of 50 in 1,000: 21.
  EXPECT_NEAR(wrong, 50, 21);
}

TEST(JointFlips, ASeriesThatLacksPairsIsMeasuredByItsOwnNumber) {
  FlippedSeries short_one;
  short_one.coins = {0, 2, 4, 6, 8, 9};
  short_one.differences = {5, 6, 5, 6, 5, 6};
  const FlippedSeries noise = series({1, -1, 1, -1, 1, -1, 1, -1, 1, -1});
  const std::vector<double> p = test_of({noise, short_one});
  EXPECT_DOUBLE_EQ(p[0], 1);
  EXPECT_DOUBLE_EQ(p[1], 34.0 / 1024);  // 2 in 64, and 2 flips of all that make the noise as large
}

TEST(JointFlips, FewerCoinsThanAskedForProveNothing) {
  EXPECT_THAT(test_of({series({1, 1, 1, 1, 1})}), ElementsAre(1.0));
  // Twelve differences of six coins: pairs of a mirrored block share one.
  FlippedSeries blocks;
  for (std::size_t i = 0; i < 12; ++i) {
    blocks.coins.push_back(i / 2);
    blocks.differences.push_back(1);
  }
  EXPECT_DOUBLE_EQ(test_of({blocks})[0], 2.0 / 64);
}

TEST(JointFlips, DifferencesWithoutSpreadProveNothing) {
  EXPECT_THAT(test_of({series(std::vector<double>(10, 0))}), ElementsAre(1.0));
  EXPECT_THAT(test_of({}), testing::IsEmpty());
}

TEST(JointFlips, BeyondTwelveCoinsFlipsAreDrawnFromTheSeed) {
  Random random(3);
  std::vector<double> d(40);
  for (double& value : d) value = 0.3 + random.normal();
  const double p = test_of({series(d)})[0];
  EXPECT_EQ(test_of({series(d)})[0], p);
  // The t test of the same numbers, which are normal.
  const double mean = std::accumulate(d.begin(), d.end(), 0.0) / 40;
  double squares = 0;
  for (const double value : d) squares += (value - mean) * (value - mean);
  const double t = mean / std::sqrt(squares / 39 / 40);
  EXPECT_NEAR(p, 2 * (1 - 0.5 * std::erfc(-t / std::sqrt(2.0))), 0.03);
}

}  // namespace
}  // namespace assay
