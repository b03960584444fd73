#include "statistics/multiplicity.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

using Flags = std::vector<bool>;

TEST(Holm, StepsDownAndStopsAtTheFirstFailure) {
  // Bounds 0.05/4, 0.05/3, 0.05/2, 0.05: the third smallest fails, so the largest does not count.
  const std::vector<double> p = {0.03, 0.012, 0.04, 0.016};
  EXPECT_EQ(holm(p, 0.05), (Flags{false, true, false, true}));
  EXPECT_EQ(holm({}, 0.05), Flags{});
}

TEST(BenjaminiHochberg, TakesAllUpToTheLastThatPasses) {
  // The example of the 1995 paper: 15 p-values, of which 4 are rejected at 0.05.
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
  const Flags rejected = benjamini_hochberg(p, 0.05);
  EXPECT_EQ(std::count(rejected.begin(), rejected.end(), true), 4);
  EXPECT_TRUE(rejected[3]);
  const Flags strict = holm(p, 0.05);  // rejects 3 of them
  EXPECT_EQ(std::count(strict.begin(), strict.end(), true), 3);
  // A p-value that fails its own bound is rejected if a larger one passes.
  EXPECT_EQ(benjamini_hochberg(std::vector<double>{0.03, 0.04}, 0.05), (Flags{true, true}));
}

}  // namespace
}  // namespace assay
