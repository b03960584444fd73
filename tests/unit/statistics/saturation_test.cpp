#include "statistics/saturation.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Saturation, InterpolatesInTheLogarithmOfSize) {
  EXPECT_DOUBLE_EQ(size_at_share({{16, 40}, {1, 0}, {256, 40}}, 0.5), 4);
  EXPECT_DOUBLE_EQ(size_at_share({{1, 10}, {2, 20}, {4, 40}}, 0.5), 2);
}

TEST(Saturation, EndsOfACurve) {
  EXPECT_DOUBLE_EQ(size_at_share({{8, 30}, {16, 40}}, 0.5), 8);  // the first size reaches it
  EXPECT_DOUBLE_EQ(size_at_share({{8, 30}, {16, 40}}, 1), 16);
  EXPECT_DOUBLE_EQ(size_at_share({}, 0.5), 0);
}

TEST(Saturation, TheFirstSizeThatReachesItCounts) {
  // A later dip changes nothing.
  EXPECT_DOUBLE_EQ(size_at_share({{1, 0}, {4, 40}, {16, 10}, {64, 40}}, 0.5), 2);
}

}  // namespace
}  // namespace assay
