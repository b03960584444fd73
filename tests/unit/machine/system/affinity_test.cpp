#include "machine/system/affinity.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

#include "core/json.h"
#include "machine/system/machine.h"

namespace assay {
namespace {

TEST(Affinity, ListsAsTheKernelWritesThem) {
  EXPECT_EQ(cpu_list({}), "");
  EXPECT_EQ(cpu_list({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(cpu_list({5, 1023, 1024, 1025, 8191}), "5,1023-1025,8191");
}

TEST(Affinity, TheProbeAndTelemetryNameTheSameCpus) {
  const std::vector<int> cpus = affinity_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
  EXPECT_EQ(this_machine().ask("affinity"), cpu_list(cpus));
  cpu_set_t here;
  CPU_ZERO(&here);
  if (sched_getaffinity(0, sizeof here, &here) != 0) GTEST_SKIP() << "more than 1024 CPUs";
  EXPECT_EQ(static_cast<std::size_t>(CPU_COUNT(&here)), cpus.size());
}

TEST(Affinity, AThreadStaysOnItsCpuUntilItIsReleased) {
  const std::vector<int> before = affinity_cpus();
  ASSERT_FALSE(before.empty());
  {
    const StayOnCpu place(before.back());
    EXPECT_EQ(affinity_cpus(), std::vector<int>{before.back()});
  }
  EXPECT_EQ(affinity_cpus(), before);
}

TEST(Affinity, ACpuThatIsNotThereChangesNothing) {
  const std::vector<int> before = affinity_cpus();
  EXPECT_FALSE(run_on_cpus({}));
  {
    const StayOnCpu place(100'000);
    EXPECT_EQ(affinity_cpus(), before);
  }
  EXPECT_EQ(affinity_cpus(), before);
}

}  // namespace
}  // namespace assay
