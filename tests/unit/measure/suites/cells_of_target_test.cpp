#include "measure/suites/cells_of_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

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

TEST(Plan, CellsThatWouldWriteOnePathAreRefused) {
  const auto refusal = [](std::vector<AxisSetting> settings) {
    settings.push_back({"weights", "model"});
    const Status apart = check_written_once(make_plan("finetune", settings).value().cells);
    EXPECT_TRUE(apart.ok() || apart.error().kind == ErrorKind::usage);
    return apart.ok() ? "" : apart.error().message;
  };
  EXPECT_EQ(refusal({{"mode", "full,lora"}, {"output", "tuned"}}),
            "output=tuned would be written by the cell with mode=full and again by that with "
            "mode=lora; run them one after the other, each with another output");
  EXPECT_EQ(
      refusal({{"save", "a,./a"}}),
      "save=./a would be written by the cell with save=a and again by that with save=./a; run "
      "them one after the other, each with another save");
  EXPECT_THAT(refusal({{"output", "tuned,tuned/"}}), HasSubstr("output=tuned/ would be written"));
  EXPECT_EQ(refusal({{"mode", "full,lora"}}), "");
  EXPECT_EQ(refusal({{"mode", "full,lora"}, {"save", "/dev/null"}}), "");
  EXPECT_EQ(refusal({{"save", "a,b"}}), "");
  // Paths that the file system cannot resolve differ, too.
  const TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  const std::string loop = folder.path() / "loop";
  EXPECT_EQ(refusal({{"save", loop + "/a," + loop + "/b"}}), "");
  EXPECT_THAT(refusal({{"save", loop + "/a," + loop + "/./a"}}), HasSubstr("would be written"));
}

TEST(Plan, UnknownTargetsAreNamedWithAGuess) {
  const auto plan = make_plan("memroy", {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::usage);
  EXPECT_NE(plan.error().message.find("memory"), std::string::npos);
}

}  // namespace
}  // namespace assay
