#include "core/write_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/read_file.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

TEST(WriteFile, ReplacesWhatIsThereAndLeavesNothingBeside) {
  TemporaryFolder folder;
  const auto path = folder.write("file", "a longer text than the new one");
  ASSERT_TRUE(write_file(path, "new").ok());
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(WriteFile, AFailureLeavesTheOldFileAlone) {
  TemporaryFolder folder;
  const auto path = folder.write("folder/file", "old");
  // A folder cannot be replaced by a file.
  const Status failed = write_file(folder.path() / "folder", "new");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::file);
  EXPECT_THAT(failed.error().message, testing::HasSubstr("cannot be replaced"));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_THAT(write_file(folder.path() / "none/file", "x").error().message,
              testing::HasSubstr("cannot be written: No such file or directory"));
}

TEST(WriteFile, AFolderIsCreatedWithThoseAboveIt) {
  TemporaryFolder folder;
  ASSERT_TRUE(create_folder(folder.path() / "a/b").ok());
  EXPECT_TRUE(create_folder(folder.path() / "a/b").ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() / "a/b"));
  folder.write("a/file", "x");
  for (const char* name : {"a/file", "a/file/c"}) {
    const Status refused = create_folder(folder.path() / name);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage) << name;
    EXPECT_THAT(refused.error().message, testing::HasSubstr("cannot create the folder"));
  }
}

TEST(WriteFile, NoLinkPreparedBesideItLeadsElsewhere) {
  TemporaryFolder folder;
  const auto other = folder.write("other", "not to be touched");
  const auto path = folder.path() / "file";
  // The name that an earlier version wrote to, which anybody could foresee.
  std::filesystem::create_symlink(other, path.string() + fmt::format(".{}.part", ::getpid()));
  ASSERT_TRUE(write_file(path, "new").ok());
  EXPECT_EQ(read_file(other), "not to be touched");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path)));
}

TEST(CheckWritable, SaysBeforeTheWorkWhatWritingWouldSayAfterIt) {
  TemporaryFolder folder;
  const auto path = folder.write("file", "old");
  EXPECT_TRUE(check_writable(path).ok());
  EXPECT_TRUE(check_writable(folder.path() / "new").ok());
  EXPECT_TRUE(check_writable("/dev/null").ok());
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  const Status missing = check_writable(folder.path() / "none/file");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::file);
  EXPECT_EQ(missing.error().message, write_file(folder.path() / "none/file", "x").error().message);
  EXPECT_THAT(check_writable(folder.path()).error().message,
              testing::HasSubstr("cannot be written: Is a directory"));
  std::filesystem::create_symlink(path, folder.path() / "link");
  const Status replaces = check_writable(path, {"/nowhere", folder.path() / "link"});
  ASSERT_FALSE(replaces.ok());
  EXPECT_THAT(replaces.error().message, testing::HasSubstr("is read and would be replaced"));
}

TEST(CheckWritable, ResultsOfAStoreAreNeverReplaced) {
  TemporaryFolder folder;
  for (const char* name : {"records.jsonl", "fingerprints.jsonl", "units.jsonl"}) {
    const auto path = folder.path() / "store" / name;
    EXPECT_EQ(check_writable(path).error().kind, ErrorKind::file) << "there is no such folder";
    folder.write(std::string("store/") + name, "{}\n");
    const Status refused = check_writable(path);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("never replaced"));
    std::filesystem::remove_all(folder.path() / "store");
  }
}

TEST(WriteFile, OnlyItsOwnUnfinishedFilesAreTakenForThem) {
  TemporaryFolder folder;
  const auto file = NewFile::create(folder.path() / "plan.yaml");
  ASSERT_TRUE(file.ok());
  const std::filesystem::directory_iterator part(folder.path());
  EXPECT_TRUE(is_unfinished(part->path().filename().string(), "plan.yaml"));
  EXPECT_FALSE(is_unfinished(part->path().filename().string(), "plan"));
  for (const char* other :
       {"plan.yaml.part", "plan.yaml.backup.part", "plan.yaml..part", "plan.yaml.0123456.part",
        "plan.yaml.012345678.part", "plan.yaml.0123456X.part", "plan.yaml.old.01234567.part",
        "plan.yaml.01234567", "plan.yaml", "plan.yamlx01234567.part", ""}) {
    EXPECT_FALSE(is_unfinished(other, "plan.yaml")) << other;
  }
}

TEST(WriteFile, DevicesStayDevices) {
  TemporaryFolder folder;
  // Through a link: if this fails, the link is lost and not the device.
  const auto device = folder.path() / "device";
  std::filesystem::create_symlink("/dev/full", device);
  const Status full = write_file(device, "text");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().kind, ErrorKind::exhausted);
  EXPECT_EQ(full.error().message, device.string() + " cannot be written: No space left on device");
  EXPECT_TRUE(std::filesystem::is_symlink(device));
}

}  // namespace
}  // namespace assay
