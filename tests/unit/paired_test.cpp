#include "statistics/paired.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

using testing::ElementsAre;

const double margin = std::log(1.02);

// Reference: Python's statistics.stdev of the differences below, and printed tables of Student's t.
TEST(PairedEffect, AgreesWithTextbookTests) {
  const std::vector<double> d = {0.011, 0.004, 0.016, -0.003, 0.009,
                                 0.012, 0.007, 0.001, 0.013,  0.010};
  const PairedEffect effect = paired_effect(d, margin);
  EXPECT_EQ(effect.n, 10u);
  EXPECT_NEAR(effect.mean, 0.008, 1e-12);
  EXPECT_NEAR(effect.deviation, 0.005830951895, 1e-8);
  const double half = 2.262157 * 0.005830951895 / std::sqrt(10.0);
  EXPECT_NEAR(effect.t95.low, 0.008 - half, 1e-8);
  EXPECT_NEAR(effect.t95.high, 0.008 + half, 1e-8);
  // Ranks 2 and 9 for 10 values at 95% (P(X < 2) = 0.0107), ranks 2 and 9 at 90% too (P(X < 3) =
  // 0.0547 > 0.05).
  EXPECT_EQ(effect.sign95.low, 0.001);
  EXPECT_EQ(effect.sign95.high, 0.013);
  EXPECT_EQ(effect.sign90.low, 0.001);
  // Sign test: 9 of 10 above 0, two-sided 2 * 11 / 1024.
  EXPECT_NEAR(effect.p_different, 22.0 / 1024, 1e-9);
  // All ten lie within the margin: p is 2^-10 by the sign test and below 0.001 by the t test too.
  EXPECT_LT(effect.p_equal, 0.05);
  EXPECT_NEAR(effect.detectable, (2.262157 + 0.883404) * 0.005830951895 / std::sqrt(10.0), 1e-6);
  EXPECT_TRUE(effect.outliers.empty());
  EXPECT_NEAR(effect.outlier_share_limit, 0.2589, 1e-4);
}

TEST(PairedEffect, TooFewPairsHaveInfiniteIntervals) {
  const std::vector<double> one = {0.01};
  for (const PairedEffect& effect : {paired_effect({}, margin), paired_effect(one, margin)}) {
    EXPECT_TRUE(std::isinf(effect.t95.low));
    EXPECT_TRUE(std::isinf(effect.sign90.high));
    EXPECT_EQ(effect.p_different, 1);
    EXPECT_EQ(effect.p_equal, 1);
    EXPECT_FALSE(precise_enough(effect, margin));
  }
  const std::vector<double> five = {0, 0, 0, 0, 0};
  const PairedEffect effect = paired_effect(five, margin);
  EXPECT_TRUE(std::isinf(effect.sign95.low)) << "five values give no 95% interval of a median";
  EXPECT_FALSE(std::isinf(effect.sign90.low));
}

TEST(PairedEffect, EqualValuesAreEqualAndNothingElse) {
  const std::vector<double> d(10, 0.0);
  const PairedEffect effect = paired_effect(d, margin);
  EXPECT_EQ(effect.p_different, 1) << "ties are no evidence of a difference";
  EXPECT_LT(effect.p_equal, 0.05);
  const std::vector<double> shifted(10, 0.05);
  EXPECT_LT(paired_effect(shifted, margin).p_different, 0.05);
  EXPECT_GT(paired_effect(shifted, margin).p_equal, 0.95);
}

TEST(PairedEffect, DependentPairsAreAveragedTwoByTwo) {
  std::vector<double> slow;  // a slow wave: neighbours are alike
  for (int i = 0; i < 24; ++i) slow.push_back(0.01 * std::sin(i * 0.3));
  const PairedEffect effect = paired_effect(slow, margin);
  EXPECT_GT(effect.autocorrelation, 0.8);
  EXPECT_EQ(effect.pairs, 24u);
  EXPECT_EQ(effect.n, 12u);
  std::vector<double> fast;  // every second pair is slow, so the means of blocks stay equal
  for (int i = 0; i < 24; ++i) fast.push_back(i % 2 == 0 ? 0.01 : -0.01);
  EXPECT_LT(paired_effect(fast, margin).autocorrelation, -0.9);
  EXPECT_LT(paired_effect(fast, margin).deviation, 1e-9);
}

TEST(PairedEffect, NamesOutlyingPairs) {
  std::vector<double> d = {0.001, -0.001, 0.002, 0.000, -0.002, 0.12, 0.001, -0.001, 0.000, 0.15};
  EXPECT_THAT(paired_effect(d, margin).outliers, ElementsAre(5u, 9u));
  d[5] = d[9] = 0.005;  // many deviations away, yet less than half the margin
  EXPECT_TRUE(paired_effect(d, margin).outliers.empty());
}

TEST(PairedEffect, ATailIsNotMistakenForEquality) {
  // Nine small values and one large.
  const std::vector<double> tail = {-0.004, -0.005, -0.003, -0.004, -0.002,
                                    -0.005, -0.003, -0.004, -0.005, 0.045};
  const std::vector<double> mirrored = [&] {
    std::vector<double> values = tail;
    for (double& value : values) value = -value;
    return values;
  }();
  const PairedEffect effect = paired_effect(tail, margin);
  EXPECT_LT(effect.t90.high, margin) << "plain t would call this within the margin";
  EXPECT_GT(effect.p_equal, 0.05);
  EXPECT_NEAR(paired_effect(mirrored, margin).p_equal, effect.p_equal, 1e-12);
}

TEST(UnpairedEffect, IsWelchs) {
  // Welch (1947) and Satterthwaite (1946), by hand.
  const std::vector<double> a = {1, 2, 3, 4, 5}, b = {4.5, 5, 5.5, 5, 5};
  const PairedEffect effect = unpaired_effect(a, b);
  EXPECT_NEAR(effect.mean, 2, 1e-12);
  EXPECT_NEAR(effect.error, std::sqrt(2.5 / 5 + 0.125 / 5), 1e-12);
  const double part_a = 0.5, part_b = 0.025;
  EXPECT_NEAR(effect.freedom,
              (part_a + part_b) * (part_a + part_b) / (part_a * part_a / 4 + part_b * part_b / 4),
              1e-9);
  EXPECT_EQ(effect.p_equal, 1) << "unpaired data cannot prove equality";
  EXPECT_TRUE(std::isinf(effect.sign95.low));
  EXPECT_TRUE(std::isinf(unpaired_effect(a, {}).t95.low));
}

TEST(PreciseEnough, NeedsBothIntervalsAndEnoughValues) {
  PairedEffect effect;
  effect.n = least_units;
  effect.t90 = {-0.008, 0.008};
  effect.sign90 = {-0.008, 0.008};
  EXPECT_TRUE(precise_enough(effect, margin));
  effect.n = least_units - 1;
  EXPECT_FALSE(precise_enough(effect, margin));
  effect.n = least_units;
  effect.sign90 = {-0.015, 0.006};
  EXPECT_FALSE(precise_enough(effect, margin));
  effect.sign90 = effect.t90;
  effect.t90 = {-0.009, 0.009};
  EXPECT_FALSE(precise_enough(effect, margin));
}

TEST(PairsNeeded, FollowsTheTableOfTheMethod) {
  // docs/method.md: about 21 values prove equality within 2% at a deviation of 2%, about 8 at 1%.
  EXPECT_NEAR(static_cast<double>(values_needed(0.02, margin)), 21, 4);
  EXPECT_NEAR(static_cast<double>(values_needed(0.01, margin)), 8, 4);
  EXPECT_EQ(values_needed(0, margin), 0u);
  EXPECT_EQ(values_needed(10, margin), 10'000u);
}

}  // namespace
}  // namespace assay
