#include "machine/system/capture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/json.h"
#include "support/temporary_folder.h"
#include "support/unprivileged.h"

namespace assay {
namespace {

/// A folder with one file of each kind.
class SomeFiles {
 public:
  SomeFiles() {
    folder_.write("proc/cmdline", "quiet api_token=s3cret iommu=pt\n");
    folder_.write("sys/gpu/unique_id", "00aa11bb\n");
    folder_.write("sys/gpu/gpu_metrics", std::string("\x00\xff\x10", 3));
    folder_.write("sys/gpu/name", "MI300X\n");
    std::filesystem::create_directory_symlink("gpu", folder_.path() / "sys/device");
  }
  FolderMachine machine() const { return FolderMachine(folder_.path()); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

TEST(FolderMachine, TellsWhyAFileCannotBeRead) {
  const SomeFiles files;
  const FolderMachine machine = files.machine();
  EXPECT_EQ(machine.read("sys/gpu/name").text, "MI300X\n");
  EXPECT_EQ(machine.read("sys/gpu/absent").state, FileState::missing);
  EXPECT_EQ(machine.read("sys/gpu").state, FileState::failed);  // a folder
  std::filesystem::permissions(files.folder().path() / "sys/gpu/name", {});
  const Unprivileged user(files.folder().path());
  if (!user.problem().empty()) GTEST_SKIP() << user.problem();
  EXPECT_EQ(machine.read("sys/gpu/name").state, FileState::denied);
}

TEST(FolderMachine, FollowsLinksInsideAndNotOut) {
  const SomeFiles files;
  std::filesystem::create_symlink("/etc", files.folder().path() / "outside");
  EXPECT_EQ(files.machine().resolve("sys/device/name"), "sys/gpu/name");
  EXPECT_EQ(files.machine().resolve("outside"), "");
  EXPECT_FALSE(files.machine().exists("outside"));
}

TEST(FolderMachine, WhatIsNoFileIsNotRead) {
  EXPECT_EQ(FolderMachine("/").read("dev/zero").state, FileState::failed);
}

TEST(Capture, TheCopyAnswersAsTheMachineDid) {
  const SomeFiles files;
  const FolderMachine machine = files.machine();
  const RecordingMachine recording(machine);
  for (const char* path : {"sys/gpu/gpu_metrics", "sys/gpu/name", "sys/gpu/absent"}) {
    recording.read(path);
  }
  recording.list("sys/gpu");
  recording.resolve("sys/device/name");
  recording.access("sys/gpu/absent");
  const auto copy = machine_from_capture(Json::parse(recording.capture(false).dump()));
  ASSERT_TRUE(copy.ok()) << copy.error().message;
  EXPECT_EQ((*copy)->read("sys/gpu/gpu_metrics").text, std::string("\x00\xff\x10", 3));
  EXPECT_EQ((*copy)->read("sys/gpu/name").text, "MI300X\n");
  EXPECT_EQ((*copy)->read("sys/gpu/absent").state, FileState::missing);
  EXPECT_EQ((*copy)->read("sys/gpu/never_asked").state, FileState::not_captured);
  EXPECT_EQ((*copy)->list("sys/gpu").size(), 3u);
  EXPECT_EQ((*copy)->resolve("sys/device/name"), "sys/gpu/name");
  EXPECT_EQ((*copy)->access("sys/gpu/absent"), FileState::not_captured) << "as of every folder";
}

TEST(Capture, HidesSecretsAlwaysAndSerialNumbersUnlessAsked) {
  const SomeFiles files;
  const FolderMachine machine = files.machine();
  const RecordingMachine recording(machine);
  recording.read("proc/cmdline");
  recording.read("sys/gpu/unique_id");
  for (const bool with_serials : {false, true}) {
    const std::string text = recording.capture(with_serials).dump();
    EXPECT_EQ(text.find("s3cret"), std::string::npos);
    EXPECT_NE(text.find("iommu=pt"), std::string::npos);
    EXPECT_EQ(text.find("00aa11bb") != std::string::npos, with_serials);
  }
}

TEST(Capture, WhatIdentifiesHardwareIsMaskedAlikeEverywhere) {
  const TemporaryFolder folder;
  const std::string uuid = "01234567-89ab-cdef-0123-456789abcdef";
  folder.write("proc/cmdline", "root=UUID=" + uuid + " BOOTIF=01-aa-bb-cc-dd-ee-ff quiet\n");
  folder.write("proc/self/cgroup", "0::/docker/" + uuid + uuid + "\n");
  folder.write("sys/fs/cgroup/docker/" + uuid + uuid + "/cpu.max", "max 100000\n");
  folder.write("sys/node/properties", "hive_id 1234567890\nunique_id 99999\nsimd_count 8\n");
  folder.write("sys/node2/properties", "hive_id 1234567890\n");
  std::string config(0x120, '\0');
  config[0x100] = 0x03;  // capability 3, a device serial number; no next one
  for (int i = 0; i < 8; ++i) config[0x104 + i] = '\x77';
  folder.write("sys/dev/config", config);
  const FolderMachine machine(folder.path());
  const RecordingMachine recording(machine);
  for (const char* path : {"proc/cmdline", "proc/self/cgroup", "sys/node/properties",
                           "sys/node2/properties", "sys/dev/config"}) {
    recording.read(path);
  }
  recording.read("sys/fs/cgroup/docker/" + uuid + uuid + "/cpu.max");
  const Json capture = recording.capture(false);
  const std::string text = capture.dump();
  for (const char* serial : {"01234567", "aa-bb-cc", "1234567890", "99999", "7777"}) {
    EXPECT_EQ(text.find(serial), std::string::npos) << serial;
  }
  const auto copy = std::move(machine_from_capture(capture)).value();
  const std::string group = copy->read("proc/self/cgroup").text;  // "0::/docker/hidden1\n"
  const std::string path = "sys/fs/cgroup" + group.substr(3, group.size() - 4) + "/cpu.max";
  EXPECT_EQ(copy->read(path).text, "max 100000\n") << path;
  const std::string node = copy->read("sys/node/properties").text;
  EXPECT_EQ(node.substr(0, node.find('\n') + 1), copy->read("sys/node2/properties").text);
  EXPECT_NE(node.find("simd_count 8"), std::string::npos);
  EXPECT_EQ(copy->read("sys/dev/config").text.size(), config.size());
  EXPECT_NE(recording.capture(true).dump().find(uuid), std::string::npos);
}

TEST(FolderMachine, ACopyNeverReadsThisMachine) {
  const TemporaryFolder folder;
  folder.write("proc/version", "copied\n");
  std::filesystem::create_symlink("/proc/cmdline", folder.path() / "proc/cmdline");
  std::filesystem::create_directory_symlink("/sys", folder.path() / "sys");
  const FolderMachine machine(folder.path());
  EXPECT_EQ(machine.read("proc/version").text, "copied\n");
  EXPECT_EQ(machine.read("proc/cmdline").text, "");
  EXPECT_TRUE(machine.list("sys").empty());
  EXPECT_EQ(machine.access("dev/null"), FileState::not_captured);
}

TEST(Capture, RubbishIsRefusedInOneLine) {
  const TemporaryFolder folder;
  for (const char* text :
       {"", "{", "[]", "{}", "{\"format\":1}", "\x00\x01",
        "{\"format\":\"assay-capture\",\"version\":2}",
        "{\"format\":\"assay-capture\",\"version\":1,\"files\":[]}",
        "{\"format\":\"assay-capture\",\"version\":1,\"files\":{\"a\":7}}",
        "{\"format\":\"assay-capture\",\"version\":1,\"folders\":{\"a\":[1]}}"}) {
    folder.write("capture.json", text);
    const auto machine = open_machine(folder.path() / "capture.json");
    ASSERT_FALSE(machine.ok()) << text;
    EXPECT_EQ(machine.error().message.find('\n'), std::string::npos);
    EXPECT_NE(machine.error().message.find("capture.json"), std::string::npos);
  }
  EXPECT_FALSE(open_machine(folder.path() / "absent").ok());
  EXPECT_TRUE(open_machine(folder.path()).ok());  // a folder of files
}

}  // namespace
}  // namespace assay
