// Where compiler tools are looked for, and which of several comes first.
#include "advise/occupancy/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/temporary_folder.h"

namespace assay::occupancy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FindTools, TheHighestVersionIsFirstAndAVariableDecides) {
  const TemporaryFolder folder;
  const char* const variable = "ASSAY_TEST_TOOL";
  const ToolPlaces places{"no-such-tool", {folder.path() / "v*/tool"}, "install it", variable};
  EXPECT_THAT(find_tools(places).error().message, HasSubstr("install it"));
  const auto tool = [&](const char* version) {
    const std::string file = folder.write(std::string(version) + "/tool", "");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  };
  const std::string older = tool("v6.9"), newer = tool("v6.10");
  folder.write("v7.0/tool", "cannot be run");
  EXPECT_THAT(find_tools(places).value(), ElementsAre(newer, older));
  EXPECT_EQ(find_tool(places).value(), newer);

  ::setenv(variable, "", 1);
  EXPECT_EQ(find_tool(places).value(), newer);
  ::setenv(variable, older.c_str(), 1);
  EXPECT_THAT(find_tools(places).value(), ElementsAre(older));
  ::setenv(variable, folder.path().c_str(), 1);
  EXPECT_THAT(find_tools(places).error().message, HasSubstr("which cannot be run"));
  ::unsetenv(variable);
}

}  // namespace
}  // namespace assay::occupancy
