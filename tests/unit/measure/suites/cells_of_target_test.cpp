#include "measure/suites/cells_of_target.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::size_t cells_of(std::vector<AxisSetting> settings) {
  settings.push_back({"size", "4KiB"});
  const auto plan = make_plan("copy", settings);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? plan->cells.size() : 0;
}

TEST(Plan, CellsThatOnlyRepeatAnotherAreLeftOutOfASweep) {
  EXPECT_EQ(cells_of({{"direction", "all"}, {"memory", "all"}}), 7u);
  EXPECT_EQ(cells_of({{"direction", "d2d"}, {"memory", "all"}}), 1u);
}

TEST(Plan, ACellAskedForAloneIsKept) {
  EXPECT_EQ(cells_of({{"direction", "d2d"}, {"memory", "pageable"}}), 1u);
}

TEST(Plan, UnknownTargetsAreNamedWithAGuess) {
  const auto plan = make_plan("memroy", {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::usage);
  EXPECT_NE(plan.error().message.find("memory"), std::string::npos);
}

}  // namespace
}  // namespace assay
