#include "statistics/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/random.h"

namespace assay {
namespace {

std::vector<double> ramp(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Quantile, InterpolatesLikeType7) {
  const std::vector<double> sorted = {1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.9), 6.8);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 8);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{5}, 0.3), 5);
}

TEST(Autocorrelation, KnownSeries) {
  // Deviations -1.5 -0.5 0.5 1.5: lag products 0.75 - 0.25 + 0.75 over squares 5.
  EXPECT_DOUBLE_EQ(autocorrelation(std::vector<double>{1, 2, 3, 4}), 0.25);
  EXPECT_DOUBLE_EQ(autocorrelation(std::vector<double>{1, -1, 1, -1}), -0.75);
  EXPECT_DOUBLE_EQ(autocorrelation(std::vector<double>{3, 3, 3, 3}), 0);
  EXPECT_DOUBLE_EQ(autocorrelation(std::vector<double>{1, 2}), 0);
}

TEST(EffectiveCount, ShrinksWithDependence) {
  EXPECT_DOUBLE_EQ(effective_count(100, 0), 100);
  EXPECT_DOUBLE_EQ(effective_count(100, -0.5), 100);
  EXPECT_NEAR(effective_count(100, 0.5), 100.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(effective_count(10, 0.999999), 1);
}

// Ranks from tables of the binomial (e.g. Conover, Practical Nonparametric Statistics, A3): for a
// 95% interval of the median n = 6 uses ranks 1 and 6, 10: 2 and 9, 20: 6 and 15, 30: 10 and 21.
TEST(MedianInterval, RanksFromTheBinomialTables) {
  const auto ranks = [](int n) {
    const auto values = ramp(n);
    const Interval interval = median_interval(values, 0.95, n);
    return std::pair(interval.low, interval.high);
  };
  EXPECT_EQ(ranks(6), std::pair(1.0, 6.0));
  EXPECT_EQ(ranks(10), std::pair(2.0, 9.0));
  EXPECT_EQ(ranks(20), std::pair(6.0, 15.0));
  EXPECT_EQ(ranks(30), std::pair(10.0, 21.0));
  EXPECT_EQ(ranks(10000), std::pair(4902.0, 5099.0));
}

TEST(MedianInterval, TooFewValuesGiveTheWholeRange) {
  EXPECT_EQ(median_interval(ramp(5), 0.95, 5).low, 1);
  EXPECT_EQ(median_interval(ramp(5), 0.95, 5).high, 5);
  EXPECT_EQ(median_interval(ramp(100), 0.95, 3).low, 1);
}

// X ~ Bin(1000, 0.99), summed exactly: P(X < 983) <= 0.025 < P(X < 984), P(X >= 997) <= 0.025 <
// P(X >= 996).
TEST(QuantileInterval, RanksFromTheBinomial) {
  const Interval interval = quantile_interval(ramp(1000), 0.99, 0.95, 1000);
  EXPECT_EQ(interval.low, 983);
  EXPECT_EQ(interval.high, 997);
  // The largest of 100 values is the only bound above their 99th percentile.
  EXPECT_EQ(quantile_interval(ramp(100), 0.99, 0.95, 100).high, 100);
  EXPECT_GT(quantile_interval(ramp(100), 0.99, 0.95, 100).low, 90);
  EXPECT_EQ(quantile_interval(ramp(100), 0.01, 0.95, 100).low, 1);
}

TEST(QuantileInterval, CoversTheTrueQuantile) {
  for (const double q : {0.5, 0.9, 0.99}) {
    int held = 0;
    constexpr int trials = 500;
    for (int trial = 0; trial < trials; ++trial) {
      Random random(static_cast<std::uint64_t>(trial) + 1);
      std::vector<double> values;
      for (int i = 0; i < 1000; ++i) values.push_back(random.uniform());
      std::sort(values.begin(), values.end());
      const Interval interval = quantile_interval(values, q, 0.95, 1000);
      held += interval.low <= q && q <= interval.high;
    }
    EXPECT_THAT(held / double{trials}, testing::AllOf(testing::Ge(0.93), testing::Le(0.99))) << q;
  }
}

TEST(Spread, AsNumpy) {
  const std::vector<double> values = {4, 1, 3, 2};
  EXPECT_EQ(mean(values), 2.5);
  EXPECT_DOUBLE_EQ(population_deviation(values), std::sqrt(1.25));
  EXPECT_DOUBLE_EQ(sample_deviation(values), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(quantile_of(values, 0.99), 3.97);
  EXPECT_EQ(mean({}), 0);
  EXPECT_EQ(population_deviation({}), 0);
  EXPECT_EQ(quantile_of({}, 0.5), 0);
}

TEST(MedianInterval, WidensWithDependence) {
  const auto values = ramp(100);
  const Interval independent = median_interval(values, 0.95, 100);
  const Interval dependent = median_interval(values, 0.95, 25);
  EXPECT_LT(dependent.low, independent.low);
  EXPECT_GT(dependent.high, independent.high);
}

// The promise itself, simulated: the interval holds the true median in at least 95% of cases,
// for skewed data and for autocorrelated data, and is not needlessly wide.
double coverage(double rho, bool skewed) {
  int held = 0;
  constexpr int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    Random random(static_cast<std::uint64_t>(trial) + 1);
    std::vector<double> values;
    double noise = random.normal();
    for (int i = 0; i < 200; ++i) {
      noise = rho * noise + std::sqrt(1 - rho * rho) * random.normal();
      values.push_back(skewed ? std::exp(noise) : 1 + 0.01 * noise);
    }
    const Interval interval = summarize(values).interval95;
    held += interval.low <= 1 && 1 <= interval.high;
  }
  return static_cast<double>(held) / trials;
}
TEST(MedianInterval, CoversTheTrueMedian) {
  EXPECT_THAT(coverage(0, false), testing::AllOf(testing::Ge(0.94), testing::Le(0.975)));
  EXPECT_THAT(coverage(0, true), testing::AllOf(testing::Ge(0.94), testing::Le(0.975)));
  EXPECT_THAT(coverage(0.5, false), testing::Ge(0.94));
  EXPECT_THAT(coverage(0.5, true), testing::Ge(0.92));
}

TEST(Summarize, FillsEveryField) {
  const std::vector<double> values = {4, 1, 3, 2, 5};
  const Summary summary = summarize(values);
  EXPECT_EQ(summary.n, 5u);
  EXPECT_EQ(summary.minimum, 1);
  EXPECT_EQ(summary.q1, 2);
  EXPECT_EQ(summary.median, 3);
  EXPECT_EQ(summary.q3, 4);
  EXPECT_DOUBLE_EQ(summary.p95, 4.8);
  EXPECT_EQ(summary.maximum, 5);
  EXPECT_EQ(summary.mean, 3);
}

}  // namespace
}  // namespace assay
