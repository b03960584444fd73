#include "statistics/dependence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"

namespace assay {
namespace {

using testing::Each;

/// A side whose value depends by `rho` on the one before it.
PairedSeries drifting_series(double rho, std::size_t n, Random& random) {
  PairedSeries series;
  double value = random.normal();
  for (std::size_t i = 0; i < n; ++i) {
    series.pairs.push_back(i);
    series.differences.push_back(value);
    value = rho * value + std::sqrt(1 - rho * rho) * random.normal();
  }
  return series;
}

std::vector<PairedSeries> drifting_family(double rho, std::size_t cells, std::size_t n,
                                          Random& random) {
  std::vector<PairedSeries> family;
  for (std::size_t i = 0; i < cells; ++i) family.push_back(drifting_series(rho, n, random));
  return family;
}

TEST(Dependence, IsFoundInIndependentPairsInOneCaseOfFifty) {
  Random random(11);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    found += find_dependence(drifting_family(0, 1, 12, random))[0] > 0 ? 1 : 0;
  }
  EXPECT_NEAR(found, 8, 8);  // nearly three standard deviations
}

TEST(Dependence, OfOneSeriesIsNearTheTruth) {
  Random random(12);
  double sum = 0;
  for (int i = 0; i < 200; ++i) sum += find_dependence(drifting_family(0.6, 1, 40, random))[0];
  EXPECT_NEAR(sum / 200, 0.6, 0.05);
}

TEST(Dependence, ThatAllCellsShareIsFoundInEachOfThem) {
  Random random(13);
  const std::vector<double> found = find_dependence(drifting_family(0.4, 50, 20, random));
  EXPECT_THAT(found, Each(testing::Gt(0.3)));
}

TEST(Dependence, OfOneCellAmongManyIsItsOwn) {
  Random random(14);
  std::vector<PairedSeries> family = drifting_family(0, 20, 40, random);
  family.push_back(drifting_series(0.95, 40, random));
  std::vector<double> found = find_dependence(family);
  EXPECT_GT(found.back(), 0.7);
  found.pop_back();
  EXPECT_LT(*std::ranges::max_element(found), 0.5);
}

TEST(Dependence, PairsAreComparedByNumber) {
  // A series that lacks every second pair of a wave is a wave, too.
  PairedSeries wave, part;
  for (std::size_t i = 0; i < 40; ++i) {
    const double value = std::sin(static_cast<double>(i) * 0.2);
    wave.pairs.push_back(i);
    wave.differences.push_back(value);
    if (i % 2 == 1) continue;
    part.pairs.push_back(i);
    part.differences.push_back(value);
  }
  EXPECT_THAT(find_dependence({{wave, part}}), Each(testing::Gt(0.7)));
}

TEST(Dependence, EqualAndFewValuesHaveNone) {
  PairedSeries equal, few;
  for (std::size_t i = 0; i < 12; ++i) {
    equal.pairs.push_back(i);
    equal.differences.push_back(0.01);
    if (i > 4) continue;
    few.pairs.push_back(i);
    few.differences.push_back(static_cast<double>(i));
  }
  EXPECT_THAT(find_dependence({{equal, few}}), Each(0));
  EXPECT_THAT(find_dependence({}), testing::IsEmpty());
}

TEST(EffectiveSample, FollowsTheAutocorrelation) {
  EXPECT_EQ(effective_sample(40, 0).n, 40);
  EXPECT_EQ(effective_sample(40, 0).deviation_factor, 1);
  EXPECT_NEAR(effective_sample(40, 0.5).n, 40.0 / 3, 1e-12);
  EXPECT_NEAR(effective_sample(10, 0.98).n, 1.5, 1e-12);
  EXPECT_NEAR(effective_sample(10, 0.98).deviation_factor, 2, 1e-12);
}

}  // namespace
}  // namespace assay
