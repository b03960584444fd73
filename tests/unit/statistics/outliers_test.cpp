#include "statistics/outliers.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(OutlierP, FarValuesAreUnlikely) {
  const std::vector<double> p = outlier_p(
      std::vector<double>{1.00, 1.01, 0.99, 1.02, 0.98, 1.00, 1.01, 0.99, 1.5, 1.5, 1.00, 1.01});
  EXPECT_LT(p[8], 0.001) << "two odd values do not hide each other";
  EXPECT_LT(p[9], 0.001);
  for (const std::size_t i : {0, 1, 2, 5, 6, 10}) EXPECT_GT(p[i], 0.2);
}

TEST(OutlierP, SaysNothingOfFewOrEqualValues) {
  for (const auto& values : {std::vector<double>{}, {1, 2, 100}, {5, 5, 5, 5, 5}}) {
    for (const double p : outlier_p(values)) EXPECT_EQ(p, 1);
  }
  // More than half are equal, so the MAD is 0.
  const std::vector<double> p = outlier_p(std::vector<double>{5, 5, 5, 5, 5, 5, 5, 5, 5, 9});
  EXPECT_EQ(p[0], 1);
  EXPECT_LT(p[9], 0.05);
}

TEST(OutlierDistance, IsWhereAValueHasThisP) {
  std::vector<double> values = {1.00, 1.01, 0.99, 1.02, 0.98, 1.00, 1.01, 0.99, 1.00, 1.5};
  const double distance = outlier_distance(values, 0.01).value();
  values.back() = 1.00 + distance;  // as far on the same side, so the spread stays as it was
  EXPECT_NEAR(outlier_p(values).back(), 0.01, 1e-9);
  EXPECT_LT(distance, outlier_distance(values, 0.001).value());
}

TEST(OutlierDistance, OfFewOrEqualValuesIsUnknown) {
  EXPECT_FALSE(outlier_distance(std::vector<double>{1, 2, 100}, 0.01));
  EXPECT_FALSE(outlier_distance(std::vector<double>{5, 5, 5, 5, 5}, 0.01));
}

}  // namespace
}  // namespace assay
