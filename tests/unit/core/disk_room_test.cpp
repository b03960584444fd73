#include "core/disk_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace assay {
namespace {

TEST(DiskRoom, AllFilesOfADiskNeedItsRoomTogether) {
  const TemporaryFolder folder;
  const auto free = static_cast<double>(std::filesystem::space(folder.path()).available);
  const std::filesystem::path file = folder.path() / "file", far = folder.path() / "a/b/c/";
  EXPECT_TRUE(check_room({{file, 1}, {far, 1}}).ok());
  const Status full = check_room({{file, free * 0.7}, {far, free * 0.7}});
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(full.error().message, testing::StartsWith(far.string() + ": the disk has room for "));
  EXPECT_FALSE(check_room({{file, 1e30}}).ok());
  EXPECT_TRUE(check_room({{"/dev/null", 1e30}}).ok());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a"));
  ASSERT_EQ(std::filesystem::space("/proc").capacity, 0U);
  EXPECT_TRUE(check_room({{"/proc/file", 1}}).ok()) << "its size is unknown";
}

}  // namespace
}  // namespace assay
