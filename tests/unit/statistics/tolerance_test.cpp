#include "statistics/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace assay {
namespace {

TEST(ToleranceFactor, IsThatOfTheTables) {
  struct Row {
    std::size_t n;
    double rate, confidence, factor;
  };
  // Odeh and Owen (1980), as reprinted in ISO 16269-6; the last one from NIST's handbook, 7.2.6.3.
  for (const Row& row : std::initializer_list<Row>{{3, 0.05, 0.95, 7.656},
                                                   {5, 0.05, 0.95, 4.203},
                                                   {10, 0.05, 0.95, 2.911},
                                                   {20, 0.05, 0.95, 2.396},
                                                   {50, 0.05, 0.95, 2.065},
                                                   {10, 0.01, 0.95, 3.981},
                                                   {20, 0.01, 0.95, 3.295},
                                                   {100, 0.01, 0.95, 2.684},
                                                   {43, 0.10, 0.99, 1.8740}}) {
    EXPECT_NEAR(tolerance_factor(row.n, {row.rate, row.confidence}), row.factor, 1e-3)
        << row.n << " values, rate " << row.rate;
  }
}

TEST(ToleranceDetection, GrowsWithTheShift) {
  // With very many values, the limit is `factor` deviations above the mean. Half of the values
  // whose mean lies there exceed it.
  EXPECT_NEAR(tolerance_detection(100000, 2.326, 2.326), 0.5, 1e-3);
  EXPECT_NEAR(tolerance_detection(100000, 2.326, 0), 0.01, 1e-4);
  EXPECT_LT(tolerance_detection(10, 3.981, 3), tolerance_detection(10, 3.981, 6));
}

TEST(ToleranceOrder, IsThatOfTheTables) {
  const TolerancePromise percent = {0.01, 0.95}, twentieth = {0.05, 0.95};
  EXPECT_EQ(least_for_tolerance_order(percent), 299u);
  EXPECT_EQ(least_for_tolerance_order(twentieth), 59u);
  EXPECT_FALSE(tolerance_order(298, percent));
  EXPECT_EQ(tolerance_order(299, percent), 1u);
  EXPECT_EQ(tolerance_order(472, percent), 1u);
  EXPECT_EQ(tolerance_order(473, percent), 2u);
  EXPECT_EQ(tolerance_order(92, twentieth), 1u);
  EXPECT_EQ(tolerance_order(93, twentieth), 2u);
  EXPECT_EQ(tolerance_order(124, twentieth), 3u);
}

TEST(ToleranceLimit, TakesOrderStatisticsWhereTheyKeepThePromise) {
  std::vector<double> values;
  for (int i = 0; i < 93; ++i) values.push_back(i * 37 % 93);
  const auto limit = upper_tolerance_limit(values, {0.05, 0.95});
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->order, 2u);
  EXPECT_EQ(limit->value, 91) << "the second largest";
}

TEST(ToleranceLimit, OtherwiseAssumesANormalDistribution) {
  const auto limit = upper_tolerance_limit(std::vector<double>{1, 2, 3, 4, 5}, {0.05, 0.95});
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->order, 0u);
  EXPECT_NEAR(limit->value, 3 + 4.203 * std::sqrt(2.5), 2e-3);
  EXPECT_FALSE(upper_tolerance_limit(std::vector<double>{1, 2}, {0.05, 0.95}));
}

}  // namespace
}  // namespace assay
