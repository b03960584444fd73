#include "compute/device/kernel_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "support/temporary_folder.h"
#include "support/unprivileged.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string code() {
  return std::string("\177ELF\0\n\r binary", 14) + std::string(70000, 'x');
}

TEST(KernelCache, GivesBackWhatWasStored) {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path() / "made/when/needed");
  EXPECT_FALSE(cache.load("key"));
  cache.store("key", code());
  EXPECT_EQ(cache.load("key"), code());
  EXPECT_FALSE(cache.load("other"));
  cache.store("key", "replaced");
  EXPECT_EQ(cache.load("key"), "replaced");
  // The entry is the only file that is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(cache.folder()), fs::directory_iterator()), 1);
}

TEST(KernelCache, DamagedEntriesAreMissesAndReplaced) {
  const TemporaryFolder folder;
  const KernelCache cache(folder.path());
  cache.store("key", code());
  const fs::path entry = folder.path() / "key";
  const auto whole = fs::file_size(entry);
  for (const std::uintmax_t size : {std::uintmax_t{0}, std::uintmax_t{3}, std::uintmax_t{80},
                                    std::uintmax_t{81}, whole / 2, whole - 1}) {
    cache.store("key", code());
    fs::resize_file(entry, size);
    EXPECT_FALSE(cache.load("key")) << "cut to " << size << " of " << whole;
  }
  for (const std::streamoff at : {0, 5, 20, 79, 90, 60000}) {
    cache.store("key", code());
    std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at).put('!');
    file.close();
    EXPECT_FALSE(cache.load("key")) << "byte " << at << " changed";
  }
  folder.write("key",
               "no entry at all, and long enough to hold a header of 80 bytes and a bit more...");
  EXPECT_FALSE(cache.load("key"));
  cache.store("key", code());
  EXPECT_EQ(cache.load("key"), code());
}

TEST(KernelCache, NoFolderMeansNoCache) {
  const KernelCache off{fs::path()};
  off.store("key", "code");
  EXPECT_FALSE(off.load("key"));
  const TemporaryFolder folder;
  const KernelCache blocked(folder.write("file", "in the way") / "below");
  blocked.store("key", "code");
  EXPECT_FALSE(blocked.load("key"));
}

TEST(KernelCache, AnUnwritableFolderIsNoError) {
  const TemporaryFolder folder;
  const Unprivileged user(folder.path());
  if (!user.problem().empty()) GTEST_SKIP() << user.problem();
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const KernelCache cache(folder.path() / "below");
  cache.store("key", "code");
  EXPECT_FALSE(cache.load("key"));
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(KernelCache, ADirectoryInTheEntrysPlaceIsNoError) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "key/below");
  const KernelCache cache(folder.path());
  cache.store("key", "code");
  EXPECT_FALSE(cache.load("key"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace assay
