#include "machine/system/cgroup.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace assay {
namespace {

/// Version 2 limits of a process in the group `path`, of whose ancestors only the root has a limit.
CgroupLimits limits_in(const std::string& path) {
  const TemporaryFolder folder;
  folder.write("proc/self/cgroup", "0::" + path + "\n");
  folder.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  folder.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  return read_cgroup_limits(FolderMachine(folder.path()));
}

std::string repeated(const std::string& component, int times) {
  std::string path;
  for (int i = 0; i < times; ++i) path += component;
  return path;
}

TEST(Cgroup, TheTightestLimitOfTheGroupAndItsAncestors) {
  EXPECT_EQ(limits_in("/a.slice/b.service").version, 2);
  EXPECT_EQ(limits_in("/a.slice/b.service").cpus, 1.5);
  EXPECT_EQ(limits_in(repeated("/a", 64)).cpus, 1.5);
}

TEST(Cgroup, APathDeeperOrLongerThanAnyRealOneIsNoGroup) {
  for (const std::string& path :
       {repeated("/a", 65), repeated("/a", 20'000), "/" + std::string(4096, 'a')}) {
    EXPECT_EQ(limits_in(path).version, 0) << path.size();
    EXPECT_FALSE(limits_in(path).cpus);
  }
}

}  // namespace
}  // namespace assay
