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

TEST(Cgroup, EveryGroupAroundTheProcessLimitsItsMemory) {
  const TemporaryFolder folder;
  folder.write("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  folder.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  folder.write("sys/fs/cgroup/slurm/memory.max", "max\n");
  folder.write("sys/fs/cgroup/slurm/job_7/memory.max", "8192\n");
  folder.write("sys/fs/cgroup/slurm/job_7/memory.current", "5000\n");
  folder.write("sys/fs/cgroup/slurm/job_7/memory.stat", "anon 1000\ninactive_file 4000\nx 10\n");
  folder.write("sys/fs/cgroup/memory.max", "65536\n");
  const auto groups = memory_of_groups(FolderMachine(folder.path()));
  ASSERT_EQ(groups.size(), 2u) << "the job, and the container around it";
  EXPECT_EQ(groups[0].most, 8192);
  EXPECT_EQ(groups[0].used, 1000) << "cached files can be reclaimed";
  EXPECT_EQ(groups[1].most, 65536);
  EXPECT_EQ(groups[1].used, 0);
}

TEST(Cgroup, GroupsOfVersionOneLimitMemoryToo) {
  const TemporaryFolder folder;
  folder.write("proc/self/cgroup", "12:cpu,cpuacct:/other\n9:memory:/job_7\nnonsense\n");
  folder.write("sys/fs/cgroup/memory/job_7/memory.limit_in_bytes", "4096\n");
  folder.write("sys/fs/cgroup/memory/job_7/memory.usage_in_bytes", "1024\n");
  folder.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  const auto groups = memory_of_groups(FolderMachine(folder.path()));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].most, 4096);
  EXPECT_EQ(groups[0].used, 1024);
}

}  // namespace
}  // namespace assay
