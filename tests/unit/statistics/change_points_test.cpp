#include "statistics/change_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/simulated_series.h"

namespace assay {
namespace {

std::vector<double> noisy(const std::vector<std::pair<std::size_t, double>>& levels) {
  Random random(7);
  std::vector<double> values;
  for (const auto& [count, level] : levels) {
    for (std::size_t i = 0; i < count; ++i) values.push_back(level + 0.01 * random.normal());
  }
  return values;
}

TEST(ChangePoints, AStepIsFoundWithItsSize) {
  const auto found = find_change_points(noisy({{20, 0}, {15, 0.1}}), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 20u);
  EXPECT_NEAR(found[0].step, 0.1, 0.01);
  EXPECT_LT(found[0].p, 1e-10);
}

TEST(ChangePoints, StepsUpAndDownFarBeyondOneWindow) {
  const auto found = find_change_points(noisy({{70, 0}, {60, 0.1}, {70, 0.04}}), {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].index, 70u);
  EXPECT_EQ(found[1].index, 130u);
  EXPECT_NEAR(found[1].step, -0.06, 0.01) << "relative to the stretch before it, not to the whole";
}

TEST(ChangePoints, NoneInFewOrEqualValues) {
  for (const auto& values : {std::vector<double>{},
                             {1},
                             {1, 9},
                             {1, 1, 9},
                             {1, 1, 1, 1, 1, 1, 1, 1},
                             {1, 2, 1, 2, 1, 2, 1, 2}}) {
    EXPECT_TRUE(find_change_points(values, {}).empty()) << values.size();
  }
}

TEST(ChangePoints, ValuesWithoutAnyNoiseThatChange) {
  const auto found = find_change_points(std::vector<double>{1, 1, 1, 1, 1, 2, 2, 2, 2}, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 5u);
  EXPECT_EQ(found[0].p, 0);
}

TEST(ChangePoints, OneOddValueAtTheEndIsNoChangeYet) {
  EXPECT_TRUE(find_change_points(noisy({{30, 0}, {1, 0.05}}), {}).empty());
  EXPECT_EQ(find_change_points(noisy({{30, 0}, {3, 0.05}}), {}).size(), 1u);
}

TEST(ChangePoints, SmallStepsCanBeLeftOut) {
  const auto values = noisy({{25, 0}, {25, 0.1}, {25, 0.12}});
  EXPECT_EQ(find_change_points(values, {}).size(), 2u);
  const auto large = find_change_points(values, {.magnitude = 0.05});
  ASSERT_EQ(large.size(), 1u);
  EXPECT_EQ(large[0].index, 25u);
  EXPECT_NEAR(large[0].step, 0.11, 0.01) << "estimated again without its neighbour";
}

}  // namespace
}  // namespace assay
