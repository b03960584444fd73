// What the first look at a campaign's environments comes to.
#include "judge/campaign/first_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/campaign/process_runner.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

EnvironmentLook look(std::string environment,
                     std::vector<std::pair<std::string, std::string>> cells) {
  return {.environment = std::move(environment), .seconds = 0.5, .cells = std::move(cells)};
}

TEST(FirstLook, WhatAllCanMeasureIsCompared) {
  const auto compared = compare_looks({look("a", {{"x", ""}, {"y", ""}}), look("b", {{"x", ""}})});
  ASSERT_TRUE(compared.ok());
  EXPECT_EQ(*compared, "");
}

TEST(FirstLook, ACellThatOneLacksIsNamedWithItsReason) {
  const auto compared =
      compare_looks({look("a", {{"x", ""}, {"y", ""}}), look("b", {{"x", ""}, {"y", "no GPU"}})});
  ASSERT_FALSE(compared.ok());
  EXPECT_EQ(compared.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(compared.error().message,
            "environment b: y: no GPU; leave the cell out, as only a could measure it");
}

TEST(FirstLook, WhatNoneCanMeasureIsLeftOut) {
  const auto compared = compare_looks({look("a", {{"x", ""}, {"y", "no"}, {"z", "never"}}),
                                       look("b", {{"x", ""}, {"y", "no"}, {"z", "never"}})});
  ASSERT_TRUE(compared.ok());
  EXPECT_EQ(*compared,
            "2 of 3 cells cannot be measured in any environment and are left out: y: no");
}

TEST(FirstLook, AnEnvironmentWithoutAnyCellEndsTheCampaign) {
  const auto compared = compare_looks({look("a", {{"x", "one rank"}}), look("b", {{"x", ""}})});
  ASSERT_FALSE(compared.ok());
  EXPECT_EQ(compared.error().message, "environment a: no cell can be measured there: x: one rank");
}

TEST(FirstLook, AModelIsNotComparedWithAMachine) {
  EnvironmentLook model = look("b", {{"x", ""}});
  model.emulated = true;
  const auto compared = compare_looks({look("a", {{"x", ""}}), model});
  ASSERT_FALSE(compared.ok());
  EXPECT_EQ(compared.error().kind, ErrorKind::usage);
  EXPECT_TRUE(compare_looks({model, model}).ok());
}

TEST(ProcessRunner, NoUnitStartsBeforeALookSucceeds) {
  const TemporaryFolder folder;
  const auto plan = parse_campaign_plan(
      "name: n\nsuite: launch\nenvironments:\n  - {name: a, kind: command, prefix: ['false']}\n",
      "p.yaml");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ProcessRunner runner(
      *plan, folder.path() / "campaign", [] { return false; },
      [](const std::vector<EnvironmentLook>&) { return Status(); });
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const auto results = runner.run({{{"a", 0}, 0, 0, attempt}});
    ASSERT_EQ(results.size(), 1U);
    ASSERT_TRUE(results[0].end_of_campaign) << attempt;
    EXPECT_EQ(results[0].end_of_campaign->kind, ErrorKind::unavailable);
  }
}

}  // namespace
}  // namespace assay
