// `assay help licenses` names everything that the program contains. What it contains is read from
// the build: static libraries from CMakeLists.txt, headers and scripts from the packages that ./run
// installs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace assay {
namespace {

using testing::HasSubstr;

std::string tree_file(const std::string& path) {
  std::ifstream file(std::filesystem::path(ASSAY_SOURCE_DIR) / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> captures_in(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  return {std::sregex_token_iterator(text.begin(), text.end(), regex, 1), {}};
}

TEST(Licenses, EveryStaticLibraryIsNamed) {
  const auto libraries =
      captures_in(tree_file("CMakeLists.txt"), "find_library\\([^ ]+ (lib[^ ]+\\.a)");
  EXPECT_FALSE(libraries.empty());
  const std::string licenses = tree_file("docs/licenses.md");
  for (const std::string& library : libraries) EXPECT_THAT(licenses, HasSubstr(library));
}

TEST(Licenses, EveryPackageWithHeadersOrScriptsIsNamed) {
  const auto lists = captures_in(tree_file("scripts/common.sh"), "\nbuild_packages=\"([^\"]+)\"");
  ASSERT_EQ(lists.size(), 1u);
  const auto packages = captures_in(lists.front(), "([^ \n]+-dev|libjs-[^ \n]+)");
  EXPECT_FALSE(packages.empty());
  const std::string licenses = tree_file("docs/licenses.md");
  for (const std::string& package : packages) {
    EXPECT_THAT(licenses, HasSubstr("| " + package + " |"));
  }
}

TEST(Licenses, AssaysOwnIsThereInFull) {
  const std::string license = tree_file("LICENSE");
  EXPECT_THAT(license, HasSubstr("Apache License"));
  const auto begin = license.find_first_not_of('\n');
  EXPECT_THAT(tree_file("docs/licenses.md"), HasSubstr(license.substr(begin)));
}

}  // namespace
}  // namespace assay
