#include "statistics/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace assay {
namespace {

constexpr CoordinateKind ordered[] = {CoordinateKind::ordered};

TEST(GaussianProcess, PassesThroughExactValuesAndIsUnsureFarFromThem) {
  const GaussianProcess process(ordered, {{0.0}, {0.5}, {1.0}}, {1, 3, 2}, {{0.3}, 0});
  const Coordinates at[] = {{0.5}, {0.75}, {9.0}};
  const auto predicted = process.predict(at);
  EXPECT_NEAR(predicted[0].mean, 3, 1e-4);
  EXPECT_NEAR(predicted[0].deviation, 0, 2e-3);
  EXPECT_GT(predicted[1].deviation, 0.1);
  EXPECT_NEAR(predicted[2].mean, 2, 1e-6);  // the mean of all
  EXPECT_GT(predicted[2].deviation, predicted[1].deviation);
}

// By hand: two points a length apart have the correlation r = (1 + s + s^2 / 3) exp(-s), s =
// sqrt(5); the values are +1 and -1, so the weights are 1 / (1 + noise - r) and its negative.
TEST(GaussianProcess, HasTheMeanOfTheFormula) {
  const double s = std::sqrt(5.0), r = (1 + s + s * s / 3) * std::exp(-s);
  const double noise = 0.1, weight = 1 / (1 + noise - r);
  const GaussianProcess process(ordered, {{0.0}, {1.0}}, {11, 9}, {{1.0}, noise});
  const Coordinates at[] = {{0.0}};
  const auto predicted = process.predict(at);
  EXPECT_NEAR(predicted[0].mean, 10 + weight * (1 - r), 1e-12);
  const double variance = 2 * weight / 2;  // values times weights, over their number
  const double a = 1 + noise, known = (a - 2 * r * r + a * r * r) / (a * a - r * r);
  EXPECT_NEAR(predicted[0].deviation, std::sqrt(variance * (1 - known)), 1e-12);
}

TEST(GaussianProcess, NamesAreEqualOrTheyDiffer) {
  constexpr CoordinateKind named[] = {CoordinateKind::named};
  const GaussianProcess process(named, {{0.0}, {1.0}}, {1, -1}, {{0.5}, 0.01});
  const Coordinates at[] = {{1.0}, {2.0}, {7.0}};
  const auto predicted = process.predict(at);
  EXPECT_LT(predicted[0].mean, -0.9);
  EXPECT_EQ(predicted[1].mean, predicted[2].mean);  // however far
  EXPECT_EQ(predicted[1].deviation, predicted[2].deviation);
}

TEST(GaussianProcess, RepeatedPointsAverage) {
  const GaussianProcess process(ordered, {{0.0}, {0.0}, {0.0}, {1.0}}, {1.1, 0.9, 1.0, 0.0},
                                {{0.2}, 0.01});
  const Coordinates at[] = {{0.0}};
  EXPECT_NEAR(process.predict(at)[0].mean, 1.0, 0.01);
}

TEST(GaussianProcess, FittingFindsWhatMattersAndTheNoise) {
  constexpr CoordinateKind kinds[] = {CoordinateKind::ordered, CoordinateKind::ordered};
  Random random(5);
  std::vector<Coordinates> points;
  std::vector<double> values, clean;
  for (int i = 0; i < 80; ++i) {
    points.push_back({random.uniform(), random.uniform()});
    clean.push_back(std::sin(5 * points.back()[0]));
    values.push_back(clean.back() + 0.2 * random.normal());
  }
  const ProcessScales start = {{0.8, 0.8}, 0.01};
  const ProcessScales noisy = fit_scales(kinds, points, values, start);
  EXPECT_GE(noisy.lengths[1], 4 * noisy.lengths[0]);  // the second coordinate does nothing
  EXPECT_GE(noisy.noise, 0.01);
  EXPECT_LE(fit_scales(kinds, points, clean, start).noise, 1e-3);
}

TEST(GaussianProcess, ImprovementIsThatOfTheNormalDistribution) {
  EXPECT_NEAR(expected_improvement({0, 1}, 0), 0.3989422804, 1e-9);  // the density at 0
  EXPECT_NEAR(expected_improvement({1, 1}, 0), 1.0833154706, 1e-9);
  EXPECT_NEAR(expected_improvement({-1, 1}, 0), 0.0833154706, 1e-9);
  EXPECT_EQ(expected_improvement({2, 0}, 0.5), 1.5);
  EXPECT_EQ(expected_improvement({0, 0}, 0.5), 0);
}

}  // namespace
}  // namespace assay
