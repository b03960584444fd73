// The campaign's logic with a function in place of processes.
#include "judge/campaign/campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/random.h"

namespace assay {
namespace {

using testing::ElementsAre;

CampaignDesign design_of(std::size_t environments, std::size_t least = 10, std::size_t most = 40) {
  CampaignDesign design;
  for (std::size_t i = 0; i < environments; ++i) {
    design.schedule.arms.push_back({{std::string(1, static_cast<char>('a' + i)), i}});
    if (i > 0) {
      design.schedule.contrasts.push_back({"a", design.schedule.arms[i][0].environment});
    }
  }
  design.least_pairs = least;
  design.most_pairs = most;
  return design;
}

/// A machine whose units take a second and whose values have the given paired noise.
class FakeRunner final : public UnitRunner {
 public:
  double noise = 0.001;
  /// Whether this attempt fails.
  std::function<bool(const UnitRequest&)> fails = [](const UnitRequest&) { return false; };
  std::function<bool()> interrupts = [] { return false; };
  /// Whether other programs take half of the CPUs and make this unit three times as slow.
  std::function<bool(const std::string&, std::size_t)> disturbs = [](const std::string&,
                                                                     std::size_t) { return false; };
  std::size_t full_after = SIZE_MAX;  ///< units, after which the disk is full
  std::vector<std::string> ran;       // "a0", "b0" ...

  std::vector<UnitResult> run(const std::vector<UnitRequest>& requests) override {
    std::vector<UnitResult> results;
    for (const UnitRequest& request : requests) {
      UnitResult result;
      result.seconds = 1;
      result.run = fmt::format("{}{}", request.member.environment, request.pair);
      ran.push_back(result.run);
      result.interrupted = interrupts();
      if (ran.size() > full_after) {
        result.end_of_campaign = Error{ErrorKind::exhausted, "cannot write x: the disk is full"};
        results.push_back(std::move(result));
        continue;
      }
      result.complete = !result.interrupted && !fails(request);
      if (!result.complete) result.reason = "it failed";
      result.values = values(request.member.environment, request.pair);
      result.taken_share = disturbs(request.member.environment, request.pair) ? 0.5 : 0.01;
      results.push_back(std::move(result));
    }
    return results;
  }
  UnitValues values(const std::string& environment, std::size_t pair) const {
    Random random(pair * 100 + static_cast<unsigned char>(environment[0]));
    random.next();
    const double seconds =
        std::exp(noise * random.normal()) * (disturbs(environment, pair) ? 3 : 1);
    return {{{"cell", "latency"}, {"latency", seconds, {seconds, seconds}, "s", Better::lower}}};
  }
};

class Kept final : public CampaignObserver {
 public:
  std::vector<UnitLine> lines;
  std::size_t die_after = SIZE_MAX;
  std::function<bool()> stops = [] { return false; };
  std::vector<std::string> given_up;
  std::size_t looks = 0;

  void starting(const std::vector<UnitRequest>&) override {}
  Status finished(const UnitLine& line) override {
    if (lines.size() >= die_after) return Error{ErrorKind::failed, "killed"};
    lines.push_back(line);
    return {};
  }
  void looked(std::size_t, std::size_t, std::size_t) override { ++looks; }
  void gave_up(const Arm& arm) override { given_up.push_back(arm.front().environment); }
  bool stop_requested() override { return stops(); }

  CampaignHistory history(const FakeRunner& runner) const {
    CampaignHistory history;
    history.lines = lines;
    for (const UnitLine& line : lines) {
      if (!line.unit.complete) continue;
      history.values[{line.unit.environment, line.unit.pair}] =
          runner.values(line.unit.environment, line.unit.pair);
    }
    return history;
  }
};

std::multiset<std::string> complete_units(const Kept& kept) {
  std::multiset<std::string> units;
  for (const UnitLine& line : kept.lines) {
    if (line.unit.complete) units.insert(line.unit.run);
  }
  return units;
}

TEST(Campaign, StopsOnPrecisionAfterTheLeastPairs) {
  FakeRunner runner;
  Kept kept;
  const auto outcome = run_campaign(design_of(3), {}, runner, kept);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->stop, CampaignStop::precise);
  EXPECT_EQ(outcome->pairs, 10u);
  EXPECT_EQ(kept.lines.size(), 30u);
  EXPECT_EQ(kept.looks, 10u);
  for (std::size_t i = 0; i < kept.lines.size(); ++i) EXPECT_EQ(kept.lines[i].position, i);
}

/// It stops as soon as the other pairs are precise, also when it continues from stored pairs.
TEST(Campaign, PairsThatOtherProgramsDisturbDoNotCount) {
  FakeRunner runner;
  runner.disturbs = [](const std::string& environment, std::size_t pair) {
    return environment == "a" ? pair == 1 || pair == 4 : pair == 3;
  };
  Kept kept;
  const auto outcome = run_campaign(design_of(2), {}, runner, kept);
  EXPECT_EQ(outcome->stop, CampaignStop::precise);
  EXPECT_EQ(outcome->pairs, 10u);
  Kept later;
  const auto again = run_campaign(design_of(2), kept.history(runner), runner, later);
  EXPECT_EQ(again->stop, CampaignStop::precise);
  EXPECT_TRUE(later.lines.empty());
}

TEST(Campaign, NoiseAsksForMorePairsUpToTheMost) {
  FakeRunner runner;
  runner.noise = 0.01;
  Kept kept;
  const auto some = run_campaign(design_of(2), {}, runner, kept);
  EXPECT_EQ(some->stop, CampaignStop::precise);
  EXPECT_GT(some->pairs, 10u);
  EXPECT_LT(some->pairs, 40u);
  runner.noise = 0.2;
  Kept all;
  const auto most = run_campaign(design_of(2), {}, runner, all);
  EXPECT_EQ(most->stop, CampaignStop::most_pairs);
  EXPECT_EQ(most->pairs, 40u);
}

/// Neither is an environment to blame nor its pair lost.
TEST(Campaign, AFullDiskEndsItAndTheNextCallContinues) {
  FakeRunner runner;
  runner.full_after = 7;
  Kept kept;
  const auto ended = run_campaign(design_of(3), {}, runner, kept);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().kind, ErrorKind::exhausted);
  EXPECT_EQ(ended.error().message, "cannot write x: the disk is full");
  EXPECT_EQ(kept.lines.size(), 7u);
  EXPECT_EQ(complete_units(kept).size(), 7u);
  EXPECT_TRUE(kept.given_up.empty());
  FakeRunner with_room;
  const auto outcome = run_campaign(design_of(3), kept.history(runner), with_room, kept);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->pairs, 10u);
  EXPECT_EQ(complete_units(kept).size(), 30u);
}

TEST(Campaign, TheBudgetEndsItBetweenPairs) {
  FakeRunner runner;
  runner.noise = 0.2;
  CampaignDesign design = design_of(2);
  design.budget_seconds = 9;  // a pair takes 2 s
  Kept kept;
  const auto outcome = run_campaign(design, {}, runner, kept);
  EXPECT_EQ(outcome->stop, CampaignStop::budget);
  EXPECT_EQ(kept.lines.size(), 8u);
  // The time spent before counts.
  const auto again = run_campaign(design, kept.history(runner), runner, kept);
  EXPECT_EQ(again->stop, CampaignStop::budget);
  EXPECT_EQ(kept.lines.size(), 8u);
}

TEST(Campaign, OneOfAnOlderVersionEndsAfterBothPairsOfADraw) {
  FakeRunner runner;
  runner.noise = 0.2;
  CampaignDesign design = design_of(2);
  design.pairs_per_draw = 2;
  design.budget_seconds = 11;  // two pairs take 4 s
  Kept kept;
  EXPECT_EQ(run_campaign(design, {}, runner, kept)->stop, CampaignStop::budget);
  EXPECT_EQ(kept.lines.size(), 8u);
  EXPECT_EQ(kept.looks, 2u);
}

TEST(Campaign, AFailedUnitIsTriedOnceMore) {
  FakeRunner runner;
  runner.fails = [](const UnitRequest& request) {
    return request.member.environment == "b" && request.pair == 3 && request.attempt == 1;
  };
  Kept kept;
  const auto outcome = run_campaign(design_of(2), {}, runner, kept);
  EXPECT_EQ(outcome->stop, CampaignStop::precise);
  EXPECT_EQ(kept.lines.size(), 21u);
  std::vector<UnitLine> third;
  for (const UnitLine& line : kept.lines) {
    if (line.unit.environment == "b" && line.unit.pair == 3) third.push_back(line);
  }
  ASSERT_EQ(third.size(), 2u);
  EXPECT_FALSE(third[0].unit.complete);
  EXPECT_EQ(third[0].reason, "it failed");
  EXPECT_TRUE(third[1].unit.complete);
  EXPECT_EQ(third[1].attempt, 2);
  EXPECT_EQ(third[0].position, third[1].position);
}

TEST(Campaign, AnEnvironmentThatKeepsFailingCostsTheOthersNothing) {
  FakeRunner runner;
  runner.fails = [](const UnitRequest& request) { return request.member.environment == "b"; };
  Kept kept;
  const auto outcome = run_campaign(design_of(3), {}, runner, kept);
  EXPECT_EQ(outcome->stop, CampaignStop::precise);
  EXPECT_THAT(outcome->given_up, ElementsAre("b"));
  EXPECT_THAT(kept.given_up, ElementsAre("b"));
  EXPECT_EQ(complete_units(kept).size(), 20u);
  EXPECT_EQ(kept.lines.size(), 26u);  // b: three units of two attempts
}

TEST(Campaign, WithoutABaselineNothingIsLeftToCompare) {
  FakeRunner runner;
  runner.fails = [](const UnitRequest& request) { return request.member.environment == "a"; };
  Kept kept;
  const auto outcome = run_campaign(design_of(2), {}, runner, kept);
  EXPECT_EQ(outcome->stop, CampaignStop::failed);
  EXPECT_LE(outcome->pairs, 4u);
}

TEST(Campaign, FailuresThatAreNotInARowAreForgiven) {
  FakeRunner runner;
  runner.fails = [](const UnitRequest& request) {
    return request.member.environment == "b" && request.pair % 3 != 2;
  };
  Kept kept;
  const auto outcome = run_campaign(design_of(2, 12, 12), {}, runner, kept);
  EXPECT_TRUE(outcome->given_up.empty());
  EXPECT_EQ(outcome->stop, CampaignStop::most_pairs);  // four pairs do not suffice for precision
}

TEST(Campaign, AKillAtAnyPointCostsAtMostTheUnitInProgress) {
  FakeRunner unbroken_runner;
  unbroken_runner.fails = [](const UnitRequest& request) {
    return request.member.environment == "b" && request.pair == 2 && request.attempt == 1;
  };
  Kept unbroken;
  ASSERT_TRUE(run_campaign(design_of(3), {}, unbroken_runner, unbroken).ok());
  for (std::size_t point = 0; point <= unbroken.lines.size(); ++point) {
    FakeRunner runner;
    runner.fails = unbroken_runner.fails;
    Kept kept;
    kept.die_after = point;
    const auto killed = run_campaign(design_of(3), {}, runner, kept);
    EXPECT_EQ(killed.ok(), point == unbroken.lines.size());
    kept.die_after = SIZE_MAX;
    const std::size_t before = runner.ran.size();
    const auto outcome = run_campaign(design_of(3), kept.history(runner), runner, kept);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->stop, CampaignStop::precise);
    EXPECT_EQ(complete_units(kept), complete_units(unbroken)) << point;
    EXPECT_EQ(runner.ran.size() - before, unbroken.lines.size() - point) << point;
    std::vector<std::string> order, expected;
    for (const UnitLine& line : kept.lines) order.push_back(line.unit.run);
    for (const UnitLine& line : unbroken.lines) expected.push_back(line.unit.run);
    EXPECT_EQ(order, expected) << point;
  }
}

TEST(Campaign, AnInterruptedUnitIsNeitherFailedNorCounted) {
  FakeRunner runner;
  std::size_t units = 0;
  runner.interrupts = [&] { return ++units == 5; };
  Kept kept;
  const auto outcome = run_campaign(design_of(2), {}, runner, kept);
  EXPECT_EQ(outcome->stop, CampaignStop::interrupted);
  EXPECT_EQ(kept.lines.size(), 4u);
  const auto next = run_campaign(design_of(2), kept.history(runner), runner, kept);
  EXPECT_EQ(next->stop, CampaignStop::precise);
  EXPECT_EQ(kept.lines.size(), 20u);
}

TEST(Campaign, AFinishedCampaignRunsNothingAndMorePairsGoOn) {
  FakeRunner runner;
  Kept kept;
  ASSERT_TRUE(run_campaign(design_of(2), {}, runner, kept).ok());
  ASSERT_TRUE(run_campaign(design_of(2), kept.history(runner), runner, kept).ok());
  EXPECT_EQ(kept.lines.size(), 20u);
  EXPECT_EQ(run_campaign(design_of(2, 14, 14), kept.history(runner), runner, kept)->pairs, 14u);
  EXPECT_EQ(kept.lines.size(), 28u);
}

CampaignDesign together() {
  CampaignDesign design = design_of(2, 4, 4);
  design.schedule.arms.push_back({{"c", 0}, {"d", 1}});
  design.schedule.contrasts = {{"a", "c"}, {"b", "d"}};
  return design;
}

TEST(Campaign, UnitsThatRunTogetherFailTogether) {
  FakeRunner runner;
  runner.fails = [](const UnitRequest& request) {
    return request.member.environment == "d" && request.pair == 1 && request.attempt == 1;
  };
  Kept kept;
  ASSERT_TRUE(run_campaign(together(), {}, runner, kept).ok());
  EXPECT_EQ(complete_units(kept).size(), 16u);
  for (const UnitLine& line : kept.lines) {
    if (line.unit.complete) continue;
    EXPECT_EQ(line.reason,
              line.unit.environment == "d" ? "it failed" : "d failed, which ran at the same time");
  }
}

TEST(Campaign, AKillBetweenLinesOfUnitsThatRanTogetherRepeatsThemTogether) {
  FakeRunner unbroken_runner;
  // Then some kills fall between the lines of a second attempt.
  unbroken_runner.fails = [](const UnitRequest& request) {
    return request.member.environment == "d" && request.pair == 1 && request.attempt == 1;
  };
  Kept unbroken;
  ASSERT_TRUE(run_campaign(together(), {}, unbroken_runner, unbroken).ok());
  for (std::size_t point = 0; point <= unbroken.lines.size(); ++point) {
    FakeRunner runner;
    runner.fails = unbroken_runner.fails;
    Kept kept;
    kept.die_after = point;
    static_cast<void>(run_campaign(together(), {}, runner, kept));
    kept.die_after = SIZE_MAX;
    ASSERT_TRUE(run_campaign(together(), kept.history(runner), runner, kept).ok());
    std::set<std::string> units;
    for (const std::string& unit : complete_units(kept)) units.insert(unit);
    EXPECT_EQ(units.size(), 16u) << point;
    EXPECT_LE(kept.lines.size(), 19u) << point;  // at most one line is repeated
  }
}

}  // namespace
}  // namespace assay
