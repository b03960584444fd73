#include "statistics/two_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;

TEST(TwoGroupsOf, ASplitFleetIsFoundWithItsMembers) {
  const auto groups =
      two_groups(std::vector<double>{1.00, 1.30, 1.01, 1.31, 0.99, 1.29, 1.00, 1.30});
  ASSERT_TRUE(groups);
  EXPECT_THAT(groups->low, ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(groups->high, ElementsAre(1, 3, 5, 7));
  EXPECT_NEAR(groups->distance, 0.3, 1e-9);
  EXPECT_LT(groups->p, 1e-4);
}

TEST(TwoGroupsOf, PIsABoundForUniformValues) {
  // The gap is twice the range of either side: c = 2, one split of four values.
  const auto groups = two_groups(std::vector<double>{0, 1, 3, 4});
  ASSERT_TRUE(groups);
  EXPECT_DOUBLE_EQ(groups->p, 0.25);
  const auto exact = two_groups(std::vector<double>{5, 5, 7, 7, 7});
  EXPECT_EQ(exact->p, 0) << "no noise";
  EXPECT_EQ(exact->distance, 2);
}

TEST(TwoGroupsOf, AFewFarValuesAreNoGroup) {
  const auto one = two_groups(std::vector<double>{1.00, 1.01, 0.99, 1.02, 0.98, 1.005, 1.015, 2});
  EXPECT_GT(one->p, 0.05);
  const auto two = two_groups(
      std::vector<double>{1.00, 1.01, 0.99, 1.02, 0.98, 1.003, 1.013, 0.993, 1.024, 2, 2.01});
  EXPECT_GT(two->p, 0.05) << "fewer than a quarter";
}

TEST(TwoGroupsOf, EqualOrFewValuesHaveNone) {
  EXPECT_FALSE(two_groups(std::vector<double>{1, 1, 2}));
  EXPECT_FALSE(two_groups(std::vector<double>{}));
  EXPECT_EQ(two_groups(std::vector<double>{3, 3, 3, 3, 3})->p, 1);
  EXPECT_GT(two_groups(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8})->p, 0.05);
}

}  // namespace
}  // namespace assay
