// Ranks whose hosts have no common cache folder still make the same choices.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "advise/health/corruption_work.h"
#include "advise/health/sdc.h"
#include "ranks/team/thread_team.h"
#include "support/test_device.h"

namespace assay::health {
namespace {

TEST(SdcChoices, RanksTakeOverTheChoicesOfRankZero) {
  // No process can keep choices in this folder, so no rank finds those of another.
  ::setenv("XDG_CACHE_HOME", "/proc/self/nowhere", 1);
  constexpr int ranks = 3;
  std::vector<SdcOutcome> outcomes(ranks);
  ThreadTeam team(ranks);
  team.run([&](ThreadTeam::End& end) {
    const auto device = open_test_device("cpu");
    SdcPlan plan{.seconds = 0.1, .patterns = false};
    for (const char* size : {"64KiB", "128KiB", "256KiB", "512KiB"}) {
      auto work =
          work_of_cell(std::string("memory op=triad dtype=f64 cache=hot size=") + size, *device);
      ASSERT_TRUE(work) << work.error().message;
      plan.work.push_back(std::move(*work));
    }
    auto outcome = check_corruption(plan, *device, end);
    ASSERT_TRUE(outcome) << outcome.error().message;
    outcomes[static_cast<std::size_t>(end.rank())] = std::move(*outcome);
  });
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(outcomes[0].verdict, SdcVerdict::sound) << outcomes[0].why;
  ASSERT_EQ(outcomes[0].units.size(), 4u);
  for (std::size_t i = 0; i < outcomes[0].units.size(); ++i) {
    EXPECT_EQ(outcomes[0].units[i].choices.size(), 1u) << i;
    for (const SdcOutcome& other : outcomes) {
      EXPECT_EQ(other.units[i].choices, outcomes[0].units[i].choices) << i;
    }
  }
}

}  // namespace
}  // namespace assay::health
