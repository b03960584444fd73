#include "statistics/outliers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"
#include "statistics/multiplicity.h"

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

/// How often a sound fleet has any odd node, by the rule of `assay fleet`.
double false_alarms(std::size_t nodes, std::size_t cells) {
  constexpr int fleets = 200;
  Random random(nodes);
  int alarms = 0;
  for (int fleet = 0; fleet < fleets; ++fleet) {
    std::vector<double> p;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      std::vector<double> values;
      for (std::size_t node = 0; node < nodes; ++node) {
        values.push_back(random.normal());
      }
      const std::vector<double> of_cell = outlier_p(values);
      p.insert(p.end(), of_cell.begin(), of_cell.end());
    }
    const std::vector<bool> odd = holm(p, 0.05);
    alarms += std::count(odd.begin(), odd.end(), true) > 0 ? 1 : 0;
  }
  return static_cast<double>(alarms) / fleets;
}

TEST(OutlierRates, ASoundFleetSeldomHasAnOddNode) {
  for (const std::size_t nodes : {6, 16, 64, 256}) {
    EXPECT_LE(false_alarms(nodes, 10), 0.05 + 0.031) << nodes << " nodes";
  }
}

}  // namespace
}  // namespace assay
