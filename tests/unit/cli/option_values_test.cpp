#include "cli/option_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temporary_folder.h"

namespace assay::cli {
namespace {

TEST(OptionValues, TwoNamesOfOneFileAreFound) {
  const TemporaryFolder folder;
  const std::filesystem::path root = folder.path();
  std::filesystem::create_directory(root / "real");
  std::filesystem::create_directory_symlink(root / "real", root / "linked");
  const std::string file = (root / "real" / "a.json").string();
  const auto are_two = [&](const std::filesystem::path& other) {
    return check_two_files("--output", file, "--tune", other.string());
  };
  for (const char* same :
       {"real/a.json", "real/./a.json", "real/../real/a.json", "linked/a.json"}) {
    const Status refused = are_two(root / same);
    ASSERT_FALSE(refused.ok()) << same;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_EQ(refused.error().message,
              "--output and --tune both name " + file + "; name two files");
  }
  EXPECT_FALSE(check_two_files("--output", "a.json", "--tune", "./a.json").ok());
  EXPECT_TRUE(are_two(root / "a.json").ok());
  EXPECT_TRUE(are_two("").ok()) << "not given";
  // A result replaces a link and leaves the file that the link leads to.
  folder.write("real/a.json", "x");
  std::filesystem::create_symlink(file, root / "link.json");
  EXPECT_TRUE(are_two(root / "link.json").ok());
}

}  // namespace
}  // namespace assay::cli
