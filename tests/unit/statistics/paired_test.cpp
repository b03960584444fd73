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
  EXPECT_EQ(effect.n, 10);
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
  // t = 4.3387 with 9 degrees of freedom: 0.00188, two-sided.
  EXPECT_NEAR(t_test(effect, Alternative::different, 0), 0.00188, 1e-5);
  EXPECT_NEAR(t_test(effect, Alternative::above, 0), 0.00094, 1e-5);
  EXPECT_NEAR(t_test(effect, Alternative::below, 0), 1 - 0.00094, 1e-5);
  EXPECT_NEAR(t_test(effect, Alternative::below, 0.016), 0.00094, 1e-5);
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
    EXPECT_EQ(t_test(effect, Alternative::different, 0), 1);
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
  EXPECT_EQ(t_test(effect, Alternative::different, 0), 1) << "ties are no evidence";
  EXPECT_LT(effect.p_equal, 0.05);
  const std::vector<double> shifted(10, 0.05);
  EXPECT_LT(t_test(paired_effect(shifted, margin), Alternative::different, 0), 0.05);
  EXPECT_GT(paired_effect(shifted, margin).p_equal, 0.95);
}

TEST(PairedEffect, DependentPairsAreWorthFewer) {
  std::vector<double> d;
  for (int i = 0; i < 40; ++i) d.push_back(0.001 * (i % 4 < 2 ? 1 : -1));
  const PairedEffect alone = paired_effect(d, margin), half = paired_effect(d, margin, 0.5);
  EXPECT_EQ(half.pairs, 40u);
  EXPECT_NEAR(half.n, 40.0 / 3, 1e-9);
  // tau = 3: the sample's variance is short by 2 / 39.
  EXPECT_NEAR(half.deviation, alone.deviation / std::sqrt(1 - 2.0 / 39), 1e-12);
  EXPECT_NEAR(half.error, half.deviation / std::sqrt(40.0 / 3), 1e-12);
  EXPECT_LT(half.t95.low, alone.t95.low);
  EXPECT_GT(half.p_equal, alone.p_equal);
  EXPECT_FALSE(half.drifts());
}

TEST(PairedEffect, OfSidesThatDriftOnlyWhatIsFarAwayIsKnown) {
  std::vector<double> d;
  for (int i = 0; i < 40; ++i) d.push_back(0.2 + 0.01 * std::sin(i * 0.1));
  const PairedEffect effect = paired_effect(d, margin, 0.9);
  EXPECT_TRUE(effect.drifts());
  EXPECT_EQ(effect.p_equal, 1);
  EXPECT_NEAR(effect.t95.low, effect.mean - 8 * effect.deviation, 1e-12);
  EXPECT_FALSE(precise_enough(effect, margin));
  for (double& value : d) value = (value - 0.2) / 10;
  const PairedEffect quiet = paired_effect(d, margin, 0.9);
  EXPECT_EQ(quiet.p_equal, 0) << "all that was ever seen is far within the margin";
  EXPECT_TRUE(precise_enough(quiet, margin));
}

TEST(PairedEffect, OutliersThatTheControlHasTooAreTheMachines) {
  std::vector<double> d(12, 0.001), control(12, -0.001);
  d[3] = d[7] = 0.05;
  d[0] = control[0] = 0;
  PairedEffect effect = paired_effect(d, margin);
  EXPECT_THAT(effect.outliers, ElementsAre(3u, 7u));
  allow_for_control(effect, d, control, margin);
  EXPECT_THAT(effect.outliers, ElementsAre(3u, 7u)) << "the control is quiet";
  control[5] = 0.03;
  allow_for_control(effect, d, control, margin);
  EXPECT_TRUE(effect.outliers.empty()) << "not twice as far as the control was";
  EXPECT_NEAR(effect.outlier_share_limit, 1 - std::pow(0.05, 1.0 / 12), 1e-6);
}

TEST(PairedEffect, ATailThatTheControlSharesIsNotCorrectedFor) {
  const std::vector<double> d = {-0.004, -0.005, -0.003, -0.004, -0.002, -0.005,
                                 -0.003, -0.004, -0.005, 0.045,  -0.004, -0.003};
  PairedEffect effect = paired_effect(d, margin);
  const double corrected = effect.p_equal;
  std::vector<double> narrow(12, 0), wide;
  for (std::size_t i = 0; i < 12; ++i) wide.push_back(i % 2 == 0 ? 0.002 : -0.002);
  allow_for_control(effect, d, narrow, margin);
  EXPECT_EQ(effect.p_equal, corrected);
  allow_for_control(effect, d, wide, margin);
  EXPECT_LT(effect.p_equal, corrected);
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
  effect.pairs = least_units;
  effect.t90 = {-0.008, 0.008};
  effect.sign90 = {-0.008, 0.008};
  EXPECT_TRUE(precise_enough(effect, margin));
  effect.pairs = least_units - 1;
  EXPECT_FALSE(precise_enough(effect, margin));
  effect.pairs = least_units;
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
