// Ranks of one host divide its CPUs.
#include "ranks/launch/cpu_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "machine/system/affinity.h"
#include "ranks/team/thread_team.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(CpuShare, CoversTheCpusEvenly) {
  EXPECT_THAT(share_of({4, 5, 6, 7}, 1, 2), ElementsAre(6, 7));
  EXPECT_THAT(share_of({0, 1}, 2, 3), ElementsAre(1));  // fewer CPUs than parts
  std::vector<int> cpus(23);
  std::iota(cpus.begin(), cpus.end(), 0);
  std::vector<int> joined;
  for (std::size_t i = 0; i < 5; ++i) {
    const std::vector<int> part = share_of(cpus, i, 5);
    EXPECT_TRUE(part.size() == 4 || part.size() == 5) << part.size();
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, cpus);
}

TEST(CpuShare, KeepsThreadsOfACoreTogether) {
  // Two packages of two cores of two threads, numbered as x86 kernels do: siblings are 4 apart.
  const TemporaryFolder root;
  for (int cpu = 0; cpu < 8; ++cpu) {
    const auto folder =
        root.path() / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "physical_package_id") << cpu % 2 << '\n';
    std::ofstream(folder / "core_id") << cpu % 4 / 2 << '\n';
  }
  std::vector<int> cpus(8);
  std::iota(cpus.begin(), cpus.end(), 0);
  EXPECT_THAT(by_core(cpus, root.path().string()), ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_THAT(by_core({3, 1}, "/nonexistent"), ElementsAre(1, 3));
}

TEST(CpuShare, RanksOfOneHostGetPartsOfTheirOwn) {
  const std::vector<int> cpus = affinity_cpus();
  ThreadTeam team(2);
  std::array<std::vector<int>, 2> kept;
  const auto divide = [&](bool on_cpu) {
    team.run([&](ThreadTeam::End& end) {
      ASSERT_TRUE(divide_cpus(end, on_cpu));
      kept[static_cast<std::size_t>(end.rank())] = affinity_cpus();
    });
  };
  divide(false);
  EXPECT_EQ(kept[0], cpus);
  EXPECT_EQ(kept[1], cpus);
  divide(true);
  if (cpus.size() == 1) GTEST_SKIP() << "one CPU";
  std::vector<int> joined = kept[0];
  joined.insert(joined.end(), kept[1].begin(), kept[1].end());
  std::sort(joined.begin(), joined.end());
  EXPECT_THAT(joined, ElementsAreArray(cpus));
  EXPECT_LE(kept[0].size(), kept[1].size() + 1);
}

TEST(CpuShare, ARankWithCpusOfItsOwnKeepsThem) {
  const std::vector<int> cpus = affinity_cpus();
  if (cpus.size() == 1) GTEST_SKIP() << "one CPU";
  ThreadTeam team(2);
  team.run([&](ThreadTeam::End& end) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[static_cast<std::size_t>(end.rank())], &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    ASSERT_TRUE(divide_cpus(end, true));
    EXPECT_THAT(affinity_cpus(), ElementsAre(cpus[static_cast<std::size_t>(end.rank())]));
  });
}

}  // namespace
}  // namespace assay
