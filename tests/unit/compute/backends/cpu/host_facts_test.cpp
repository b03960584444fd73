#include "compute/backends/cpu/host_facts.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace assay::cpu {
namespace {

TEST(HostFacts, EveryGroupAroundTheProcessLimitsItsMemory) {
  const TemporaryFolder folder;
  const std::string root = folder.path().string();
  folder.write("own", "0::/slurm/job_7/step_0\n");
  folder.write("slurm/memory.max", "max\n");
  folder.write("slurm/job_7/memory.max", "8192\n");
  folder.write("slurm/job_7/memory.current", "5000\n");
  folder.write("slurm/job_7/memory.stat", "anon 1000\ninactive_file 4000\nactive_file 10\n");
  folder.write("memory.max", "65536\n");
  const auto groups = memory_of_groups(root, root + "/own");
  ASSERT_EQ(groups.size(), 2u) << "the job, and the container around it";
  EXPECT_EQ(groups[0].most, 8192u);
  EXPECT_EQ(groups[0].used, 1000u) << "cached files can be reclaimed";
  EXPECT_EQ(groups[1].most, 65536u);
  EXPECT_EQ(groups[1].used, 0u);
}

TEST(HostFacts, GroupsOfVersionOneLimitMemoryToo) {
  const TemporaryFolder folder;
  const std::string root = folder.path().string();
  folder.write("own", "12:cpu,cpuacct:/other\n9:memory:/job_7\n1:name=systemd:/init\nnonsense\n");
  folder.write("memory/job_7/memory.limit_in_bytes", "4096\n");
  folder.write("memory/job_7/memory.usage_in_bytes", "1024\n");
  folder.write("memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  folder.write("other/memory.max", "1\n");
  const auto groups = memory_of_groups(root, root + "/own");
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].most, 4096u);
  EXPECT_EQ(groups[0].used, 1024u);
  EXPECT_TRUE(memory_of_groups(root, root + "/none").empty());
}

}  // namespace
}  // namespace assay::cpu
