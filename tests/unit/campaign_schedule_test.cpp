#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "judge/campaign/schedule.h"

namespace assay {
namespace {

class Blocks : public testing::TestWithParam<std::size_t> {};

TEST_P(Blocks, ArePalindromesInWhichALinearDriftCancels) {
  const std::size_t arms = GetParam();
  for (std::size_t block = 0; block < 50; ++block) {
    const auto turns = turns_of_block(3, block, arms);
    ASSERT_EQ(turns.size(), 2 * arms);
    std::vector<std::size_t> sum(arms);
    for (std::size_t i = 0; i < turns.size(); ++i) {
      EXPECT_EQ(turns[i].arm, turns[turns.size() - 1 - i].arm);
      EXPECT_EQ(turns[i].position, block * 2 * arms + i);
      EXPECT_EQ(turns[i].pair, 2 * block + (i < arms ? 0 : 1));
      sum[turns[i].arm] += turns[i].position;
    }
    for (const std::size_t each : sum) EXPECT_EQ(each, sum.front());
  }
}

INSTANTIATE_TEST_SUITE_P(Arms, Blocks, testing::Values(2, 3, 4, 9));

TEST(Schedule, EveryOrderIsDrawnAndTheSeedAloneDecides) {
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t block = 0; block < 200; ++block) {
    const auto turns = turns_of_block(1, block, 3);
    EXPECT_EQ(turns, turns_of_block(1, block, 3));
    orders.insert({turns[0].arm, turns[1].arm, turns[2].arm});
  }
  EXPECT_EQ(orders.size(), 6u);
  std::size_t equal = 0;
  for (std::size_t block = 0; block < 200; ++block) {
    equal += turns_of_block(1, block, 3) == turns_of_block(2, block, 3) ? 1 : 0;
  }
  EXPECT_LT(equal, 80u);  // chance alone gives one in six
}

}  // namespace
}  // namespace assay
