#include "core/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/library_search.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A real library to copy: the C library's mathematics.
std::string libm() {
  const auto library = SharedLibrary::open({"libm", {"libm.so.6"}, {""}, ""});
  return library ? library->path() : "";
}

void copy_libm(const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy_file(libm(), to);
}

TEST(SharedLibrary, OpensFromTheLinkersPathAndBinds) {
  const auto library =
      SharedLibrary::open({"mathematics", {"libnone.so.9", "libm.so.6"}, {""}, ""});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_TRUE(fs::exists(library->path()));
  double (*function)(double) = nullptr;
  EXPECT_TRUE(library->bind(function, {"no_such_function", "cos"}));
  EXPECT_EQ(function(0.0), 1.0);
  EXPECT_FALSE(library->bind(function, {"no_such_function"}));
  EXPECT_EQ(function, nullptr);
}

TEST(SharedLibrary, SaysWhatWasTriedWhereAndWhatToInstall) {
  const auto library = SharedLibrary::open(
      {"HIP runtime", {"libnone.so.7", "libnone.so"}, {"", "/nowhere/lib"}, "install ROCm"});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(library.error().message,
            "HIP runtime not found: tried libnone.so.7, libnone.so in the dynamic linker's path, "
            "/nowhere/lib; install ROCm");
}

TEST(SharedLibrary, TakesTheNewestFolderOfAPattern) {
  const TemporaryFolder folder;
  for (const char* version : {"core-9.2", "core-10.0", "core-10.12", "core-10.2"}) {
    copy_libm(folder.path() / version / "lib/libassay_newest.so.1");
  }
  const auto library =
      SharedLibrary::open({"test", {"libassay_newest.so.1"}, {folder.path() / "core-*/lib"}, ""});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_EQ(library->path(), fs::canonical(folder.path()) / "core-10.12/lib/libassay_newest.so.1");
}

TEST(SharedLibrary, PrefersFoldersInOrder) {
  const TemporaryFolder folder;
  copy_libm(folder.path() / "a/libassay_order.so");
  copy_libm(folder.path() / "b/libassay_order.so.1");
  const auto library = SharedLibrary::open({"test",
                                            {"libassay_order.so.1", "libassay_order.so"},
                                            {folder.path() / "a", folder.path() / "b"},
                                            ""});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_THAT(library->path(), HasSubstr("/a/libassay_order.so"));
}

TEST(SharedLibrary, PrefersWhatIsLoadedAlready) {
  const TemporaryFolder folder;
  copy_libm(folder.path() / "libm.so.6");
  const auto library = SharedLibrary::open({"test", {"libm.so.6"}, {folder.path()}, ""});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_EQ(library->path(), libm());
}

TEST(SharedLibrary, AFileThatDoesNotLoadIsNamed) {
  const TemporaryFolder folder;
  const fs::path broken = folder.write("libassay_broken.so", "this is no library");
  const auto library = SharedLibrary::open({"test", {"libassay_broken.so"}, {folder.path()}, ""});
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().message, HasSubstr("test not usable"));
  EXPECT_THAT(library.error().message, HasSubstr(broken.string() + ": "));
}

TEST(LibrarySearch, OverrideNamesAFileOrAFolder) {
  const TemporaryFolder folder;
  copy_libm(folder.path() / "libassay_override.so.2");
  const LibraryCandidates everywhere{
      "test", {"libassay_override.so.3", "libassay_override.so.2"}, {"", "/nowhere"}, "install it"};
  for (const fs::path& value : {folder.path(), folder.path() / "libassay_override.so.2"}) {
    LibraryCandidates candidates = everywhere;
    setenv("ASSAY_TEST_LIBRARY", value.c_str(), 1);
    apply_override(candidates, "ASSAY_TEST_LIBRARY");
    const auto library = SharedLibrary::open(candidates);
    ASSERT_TRUE(library) << library.error().message;
    EXPECT_THAT(library->path(), HasSubstr("libassay_override.so.2"));
  }
  LibraryCandidates candidates = everywhere;
  setenv("ASSAY_TEST_LIBRARY", "/nowhere/at/all.so", 1);
  apply_override(candidates, "ASSAY_TEST_LIBRARY");
  const auto library = SharedLibrary::open(candidates);
  unsetenv("ASSAY_TEST_LIBRARY");
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().message,
              HasSubstr("ASSAY_TEST_LIBRARY is set to /nowhere/at/all.so"));

  LibraryCandidates untouched = everywhere;
  apply_override(untouched, "ASSAY_TEST_LIBRARY");
  EXPECT_EQ(untouched.names, everywhere.names);
  EXPECT_EQ(untouched.folders, everywhere.folders);
}

TEST(LibrarySearch, SitePackagesOfTheVirtualEnvironmentComeFirst) {
  const char* old = std::getenv("VIRTUAL_ENV");
  const std::string saved = old != nullptr ? old : "";
  setenv("VIRTUAL_ENV", "/some/venv", 1);
  const std::vector<std::string> folders = python_library_folders({"nvidia/cu13/lib"});
  old != nullptr ? setenv("VIRTUAL_ENV", saved.c_str(), 1) : unsetenv("VIRTUAL_ENV");
  ASSERT_FALSE(folders.empty());
  EXPECT_EQ(folders[0], "/some/venv/lib/python3*/site-packages/nvidia/cu13/lib");
}

TEST(LibrarySearch, OnlyFoldersMatchAndTheHighestVersionIsFirst) {
  const TemporaryFolder folder;
  const std::string begin = folder.path() / "v";
  for (const char* version : {"9", "10"}) fs::create_directory(begin + version);
  folder.write("v11", "a file");
  EXPECT_THAT(expand_folders(begin + "*"), testing::ElementsAre(begin + "10", begin + "9"));
}

TEST(LibrarySearch, IdentityChangesWithTheFile) {
  const TemporaryFolder folder;
  const std::string file = folder.write("x", "one");
  const std::string before = file_identity(file);
  EXPECT_EQ(before, file_identity(file));
  folder.write("x", "three");
  EXPECT_NE(before, file_identity(file));
}

}  // namespace
}  // namespace assay
