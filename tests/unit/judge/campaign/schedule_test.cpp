#include "judge/campaign/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace assay {
namespace {

class TurnsOfArms : public testing::TestWithParam<std::size_t> {};

TEST_P(TurnsOfArms, EveryPairHasEachArmOnceInAnOrderOfItsOwn) {
  const std::size_t arms = GetParam();
  for (std::size_t pair = 0; pair < 50; ++pair) {
    const auto turns = turns_of_block(3, pair, arms, 1);
    ASSERT_EQ(turns.size(), arms);
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      seen.insert(turns[i].arm);
      EXPECT_EQ(turns[i].position, pair * arms + i);
      EXPECT_EQ(turns[i].pair, pair);
    }
    EXPECT_EQ(seen.size(), arms);
  }
}

/// Campaigns that older versions began continue in the order in which they began.
TEST_P(TurnsOfArms, OlderCampaignsMeasureTheSecondPairInTheReverseOrder) {
  const std::size_t arms = GetParam();
  for (std::size_t block = 0; block < 50; ++block) {
    const auto turns = turns_of_block(3, block, arms, 2);
    ASSERT_EQ(turns.size(), 2 * arms);
    for (std::size_t i = 0; i < turns.size(); ++i) {
      EXPECT_EQ(turns[i].arm, turns[turns.size() - 1 - i].arm);
      EXPECT_EQ(turns[i].position, block * 2 * arms + i);
      EXPECT_EQ(turns[i].pair, 2 * block + (i < arms ? 0 : 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Arms, TurnsOfArms, testing::Values(2, 3, 4, 9));

/// What version 1d9fd9b4 drew for seed 1 and three arms.
TEST(Schedule, OlderOrdersAreAsTheyWere) {
  std::vector<std::size_t> arms;
  for (std::size_t block = 0; block < 4; ++block) {
    for (std::size_t i = 0; i < 3; ++i) arms.push_back(turns_of_block(1, block, 3, 2)[i].arm);
  }
  EXPECT_THAT(arms, testing::ElementsAreArray(
                        std::vector<std::size_t>{1, 0, 2, 1, 0, 2, 0, 2, 1, 0, 2, 1}));
}

TEST(Schedule, EveryOrderIsDrawnAndTheSeedAloneDecides) {
  std::map<std::vector<std::size_t>, std::size_t> orders;
  std::size_t equal = 0, b_first = 0;
  for (std::size_t pair = 0; pair < 600; ++pair) {
    const auto turns = turns_of_block(1, pair, 3, 1);
    EXPECT_EQ(turns, turns_of_block(1, pair, 3, 1));
    ++orders[{turns[0].arm, turns[1].arm, turns[2].arm}];
    equal += turns == turns_of_block(2, pair, 3, 1) ? 1 : 0;
    const auto place = [&](std::size_t arm) {
      return std::ranges::find(turns, arm, &Turn::arm)->position;
    };
    b_first += place(1) < place(0) ? 1 : 0;
  }
  EXPECT_EQ(orders.size(), 6u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(static_cast<double>(count), 100, 40);
  EXPECT_LT(equal, 150u);  // chance alone gives one in six
  EXPECT_NEAR(static_cast<double>(b_first), 300, 50) << "a fair coin";
}

}  // namespace
}  // namespace assay
