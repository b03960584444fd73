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

PairedSeries flipped_series(std::vector<double> differences) {
  PairedSeries all;
  all.pairs.resize(differences.size());
  std::iota(all.pairs.begin(), all.pairs.end(), std::size_t{0});
  all.differences = std::move(differences);
  return all;
}

std::vector<double> test_of(const std::vector<PairedSeries>& family,
                            Alternative side = Alternative::different, double bound = 0) {
  return joint_flip_test(family, std::vector<double>(family.size(), 0), side, bound, {});
}

TEST(JointFlips, OneSeriesHasTheShareOfFlipsThatAreAsExtreme) {
  // All of one sign: only no flip and all flips have so large a sum.
  const PairedSeries ten = flipped_series({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_DOUBLE_EQ(test_of({ten})[0], 2.0 / 1024);
  EXPECT_DOUBLE_EQ(test_of({ten}, Alternative::above)[0], 1.0 / 1024);
  EXPECT_DOUBLE_EQ(test_of({ten}, Alternative::below)[0], 1);
  // 1 + ... + 10 = 55 and one of two is negative: sums of at least 53 have none or the 1 flipped.
  EXPECT_DOUBLE_EQ(test_of({flipped_series({-1, 2, 3, 4, 5, 6, 7, 8, 9, 10})})[0], 4.0 / 1024);
}

TEST(JointFlips, ManyCellsThatAllDifferAreAllFound) {
  Random random(7);
  std::vector<PairedSeries> family;
  for (int cell = 0; cell < 1000; ++cell) {
    std::vector<double> d(10);
    for (double& value : d) value = 0.18 + 0.01 * random.normal();
    family.push_back(flipped_series(d));
  }
  EXPECT_THAT(test_of(family), Each(testing::Le(2.0 / 1024 + 1e-12)));
  EXPECT_THAT(test_of(family, Alternative::above, std::log(1.02)),
              Each(testing::Le(1.0 / 1024 + 1e-12)));
}

TEST(JointFlips, AFamilyOfEqualCellsIsCalledDifferentInOneCaseOfTwenty) {
  constexpr int campaigns = 1000;
  int wrong = 0;
  for (int campaign = 0; campaign < campaigns; ++campaign) {
    Random random(static_cast<std::uint64_t>(campaign) + 1);
    std::vector<PairedSeries> family;
    std::vector<double> shared(10);
    for (double& value : shared) value = random.normal();
    for (int cell = 0; cell < 20; ++cell) {
      std::vector<double> d(10);
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = shared[i] + random.normal();
      family.push_back(flipped_series(d));
    }
    const std::vector<double> p = test_of(family);
    wrong += std::any_of(p.begin(), p.end(), [](double value) { return value <= 0.05; }) ? 1 : 0;
  }
  // Three standard deviations of 50 in 1,000: 21.
  EXPECT_NEAR(wrong, 50, 21);
}

TEST(JointFlips, ASeriesThatLacksPairsIsMeasuredByItsOwnNumber) {
  PairedSeries short_one;
  short_one.pairs = {0, 2, 4, 6, 8, 9};
  short_one.differences = {5, 6, 5, 6, 5, 6};
  const PairedSeries noise = flipped_series({1, -1, 1, -1, 1, -1, 1, -1, 1, -1});
  const std::vector<double> p = test_of({noise, short_one});
  EXPECT_DOUBLE_EQ(p[0], 1);
  EXPECT_DOUBLE_EQ(p[1], 34.0 / 1024);  // 2 in 64, and 2 flips of all that make the noise as large
}

TEST(JointFlips, FewerCoinsThanAskedForProveNothing) {
  EXPECT_THAT(test_of({flipped_series({1, 1, 1, 1, 1})}), ElementsAre(1.0));
  // Twelve differences of six coins: pairs of which the second has the reverse order share one.
  const PairedSeries blocks = flipped_series(std::vector<double>(12, 1));
  const std::vector<double> independent = {0};
  const FlipRule two_pairs{.pairs_per_draw = 2};
  EXPECT_DOUBLE_EQ(
      joint_flip_test({{blocks}}, independent, Alternative::different, 0, two_pairs)[0], 2.0 / 64);
  const PairedSeries ten = flipped_series(std::vector<double>(10, 1));
  EXPECT_THAT(joint_flip_test({{ten}}, independent, Alternative::different, 0, two_pairs),
              ElementsAre(1.0));
}

TEST(JointFlips, ValuesThatDependOnEachOtherCountForFewer) {
  const PairedSeries ten = flipped_series({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const auto p = [&](double dependence) {
    return joint_flip_test({{ten}}, {{dependence}}, Alternative::different, 0, {})[0];
  };
  EXPECT_DOUBLE_EQ(p(0), 2.0 / 1024);
  // t = 5.5 / (3.028 / sqrt(10)) = 5.74; with an autocorrelation of 0.5 it is one of 2.3 degrees of
  // freedom and 5.74 sqrt(1 / 3) sqrt(7 / 9) = 2.9, whose p of 0.08 is reached by 0.02 of all
  // flips.
  EXPECT_GT(p(0.5), 0.01);
  EXPECT_GT(p(0.8), p(0.5));
}

TEST(JointFlips, DifferencesWithoutSpreadProveNothing) {
  EXPECT_THAT(test_of({flipped_series(std::vector<double>(10, 0))}), ElementsAre(1.0));
  EXPECT_THAT(test_of({}), testing::IsEmpty());
}

TEST(JointFlips, BeyondTwelveCoinsFlipsAreDrawnFromTheSeed) {
  Random random(3);
  std::vector<double> d(40);
  for (double& value : d) value = 0.3 + random.normal();
  const double p = test_of({flipped_series(d)})[0];
  EXPECT_EQ(test_of({flipped_series(d)})[0], p);
  // The t test of the same numbers, which are normal.
  const double mean = std::accumulate(d.begin(), d.end(), 0.0) / 40;
  double squares = 0;
  for (const double value : d) squares += (value - mean) * (value - mean);
  const double t = mean / std::sqrt(squares / 39 / 40);
  EXPECT_NEAR(p, 2 * (1 - 0.5 * std::erfc(-t / std::sqrt(2.0))), 0.03);
}

}  // namespace
}  // namespace assay
