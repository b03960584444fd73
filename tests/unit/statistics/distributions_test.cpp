#include "statistics/distributions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

// Reference values: printed tables; coins by counting.
TEST(Distributions, AgreeWithTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 9), 2.262157, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.95, 5), 2.015048, 1e-6);
  EXPECT_NEAR(student_t_cdf(2.262157, 9), 0.975, 1e-6);
  EXPECT_NEAR(student_t_cdf(-1, 1), 0.25, 1e-12);
  EXPECT_NEAR(normal_quantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(coin_cdf(0, 5), 0.03125, 1e-12);
  EXPECT_NEAR(coin_cdf(2, 10), 0.0546875, 1e-12);
  EXPECT_EQ(coin_cdf(10, 10), 1);
}

TEST(Distributions, UpperBoundOfAShare) {
  // 0 of n: 1 - 0.05^(1/n).
  for (const std::size_t n : {10, 59}) {
    EXPECT_NEAR(share_upper_bound(0, n, 0.95), 1 - std::pow(0.05, 1.0 / static_cast<double>(n)),
                1e-9);
  }
  // By definition P(X <= 1) = 5% at the bound: (1 - p)^10 + 10 p (1 - p)^9.
  const double p = share_upper_bound(1, 10, 0.95);
  EXPECT_NEAR(std::pow(1 - p, 10) + 10 * p * std::pow(1 - p, 9), 0.05, 1e-9);
  EXPECT_EQ(share_upper_bound(10, 10, 0.95), 1);
}

TEST(Distributions, ExtremesAreNumbers) {
  EXPECT_EQ(student_t_cdf(-1e300, 5), 0);
  EXPECT_EQ(student_t_cdf(1e300, 5), 1);
  EXPECT_TRUE(std::isfinite(student_t_quantile(0.995, 1e9)));
}

}  // namespace
}  // namespace assay
