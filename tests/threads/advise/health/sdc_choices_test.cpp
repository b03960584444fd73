// Ranks whose hosts have no common cache folder still make the same choices.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "advise/health/corruption_work.h"
#include "advise/health/sdc.h"
#include "advise/health/sdc_reference.h"
#include "ranks/team/thread_team.h"
#include "support/test_device.h"

namespace assay::health {
namespace {

constexpr const char* plain_stores = "hints=none";
constexpr const char* streaming_stores = "hints=stores";

/// Units whose launch geometries are chosen by measuring, in caches of several sizes.
SdcPlan plan_of_choices(const Device& device) {
  SdcPlan plan{.seconds = 0.1, .patterns = false};
  for (const char* size : {"64KiB", "128KiB", "256KiB", "512KiB"}) {
    auto work =
        work_of_cell(std::string("memory op=triad dtype=f64 cache=hot size=") + size, device);
    EXPECT_TRUE(work) << work.error().message;
    if (work) plan.work.push_back(std::move(*work));
  }
  return plan;
}

/// A CPU has two geometries to choose from: the text with each exchanged for the other.
std::string with_other_choices(std::string text) {
  for (std::size_t at = 0; (at = text.find("hints=", at)) != std::string::npos; ++at) {
    const bool plain = text.compare(at, std::strlen(plain_stores), plain_stores) == 0;
    text.replace(at, std::strlen(plain ? plain_stores : streaming_stores),
                 plain ? streaming_stores : plain_stores);
  }
  return text;
}

/// "KEY CHOICE" of each unit, in lines if it has several.
std::vector<std::string> choices_of_units(const std::vector<SdcUnit>& units) {
  std::vector<std::string> all;
  for (const SdcUnit& unit : units) {
    std::string& lines = all.emplace_back();
    for (const KeptChoice& one : unit.choices) lines += one.key + " " + one.choice + "\n";
  }
  return all;
}

TEST(SdcChoices, RanksTakeOverTheChoicesOfRankZero) {
  // No process can keep choices in this folder, so no rank finds those of another.
  ::setenv("XDG_CACHE_HOME", "/proc/self/nowhere", 1);
  // Rank 0 gets choices that no rank would make by itself.
  const auto alone = open_test_device("cpu");
  const auto chosen = check_corruption(plan_of_choices(*alone), *alone, solo_team());
  ASSERT_TRUE(chosen) << chosen.error().message;
  const auto reference = reference_of(*chosen, *alone);
  ASSERT_TRUE(reference) << reference.error().message;
  const std::string given = with_other_choices(*reference);
  constexpr int ranks = 3;
  std::vector<SdcOutcome> outcomes(ranks);
  ThreadTeam team(ranks);
  team.run([&](ThreadTeam::End& end) {
    const auto device = open_test_device("cpu");
    SdcPlan plan = plan_of_choices(*device);
    if (end.rank() == 0) plan.reference = given;
    auto outcome = check_corruption(plan, *device, end);
    ASSERT_TRUE(outcome) << outcome.error().message;
    outcomes[static_cast<std::size_t>(end.rank())] = std::move(*outcome);
  });
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(outcomes[0].verdict, SdcVerdict::sound) << outcomes[0].why;
  const auto read = read_reference(given);
  ASSERT_TRUE(read) << read.error().message;
  const auto expected = choices_of_units(read->units);
  ASSERT_EQ(expected.size(), 4u);
  const auto own = choices_of_units(chosen->units);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NE(expected[i], own[i]);
  for (const SdcOutcome& outcome : outcomes) {
    EXPECT_EQ(choices_of_units(outcome.units), expected);
  }
}

}  // namespace
}  // namespace assay::health
