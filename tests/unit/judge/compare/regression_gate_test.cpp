#include "judge/compare/regression_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "judge/compare/family.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(RegressionGate, LevelsComeFromRates) {
  const auto nightly = parse_gate("1/year", "day");
  ASSERT_TRUE(nightly.ok());
  EXPECT_NEAR(nightly->level(), 1 / 365.25, 1e-12);
  EXPECT_NEAR(rule_of_gate({}, *nightly).alpha, 2 / 365.25, 1e-12);
  const auto often = parse_gate("1/month", "20/day");
  ASSERT_TRUE(often.ok());
  EXPECT_NEAR(often->level(), 12 / (20 * 365.25), 1e-12);
}

TEST(RegressionGate, RefusesWhatHasNoLevel) {
  EXPECT_THAT(parse_gate("often", "day").error().message, HasSubstr("--alarms: \"often\""));
  EXPECT_THAT(parse_gate("1/year", "0/day").error().message, HasSubstr("--every: \"0/day\""));
  // One in ten thousand runs is finer than 4,096 flips of signs can tell, one a month too coarse.
  EXPECT_THAT(parse_gate("1/year", "30/day").error().message, HasSubstr("allowed: 0.001 to 0.025"));
  EXPECT_FALSE(parse_gate("1/month", "week").ok());
}

TEST(RegressionGate, SmallerLevelsNeedMorePairs) {
  EXPECT_EQ(VerdictRule{}.least_draws(), 6U);
  EXPECT_EQ((rule_of_gate({}, {1, 365})).least_draws(), 9U);
  EXPECT_EQ((rule_of_gate({}, {1, 1000})).least_draws(), 10U);
}

CellComparison cell_of(const std::string& name, std::size_t pairs, double mean, double noise,
                       const VerdictRule& rule) {
  PairedMember member;
  for (std::size_t i = 0; i < pairs; ++i) {
    member.differences.pairs.push_back(i);
    member.differences.differences.push_back(mean + (i % 2 == 0 ? noise : -noise) *
                                                        (1 + 0.1 * static_cast<double>(i % 3)));
  }
  const JudgedFamily family = judge_family(std::vector{member}, 1, rule);
  CellComparison cell;
  cell.key = {name, "latency"};
  cell.effect = family.members[0].effect;
  cell.test = family.members[0].test;
  cell.judgement = family.members[0].ruling;
  cell.ratio95 = {std::exp(-cell.effect.t95.high), std::exp(-cell.effect.t95.low)};
  return cell;
}

TEST(RegressionGate, SlowerCellsAreAlarmsAndTheSmallestOneFoundIsKnown) {
  const RegressionGate gate{1, 365};
  Comparison comparison;
  comparison.rule = rule_of_gate({}, gate);
  comparison.cells = {cell_of("fine", 12, 0, 0.005, comparison.rule),
                      cell_of("slow", 12, 0.1, 0.005, comparison.rule)};
  const GateOutcome result = gate_result(comparison);
  ASSERT_EQ(result.alarms.size(), 1U);
  EXPECT_EQ(result.alarms[0]->key.cell, "slow");
  ASSERT_TRUE(result.detectable.has_value());
  EXPECT_GT(*result.detectable, 0.02);
  EXPECT_LT(*result.detectable, 0.04);
  EXPECT_THAT(gate_sentence(gate, result), HasSubstr("at most 1 false alarm a year"));
}

TEST(RegressionGate, WithTooFewPairsNoAlarmIsPossible) {
  Comparison comparison;
  comparison.rule = rule_of_gate({}, {1, 365});
  comparison.cells = {cell_of("slow", 8, 0.5, 0.005, comparison.rule)};
  const GateOutcome result = gate_result(comparison);
  EXPECT_TRUE(result.alarms.empty());
  EXPECT_FALSE(result.detectable.has_value());
  EXPECT_THAT(gate_sentence({1, 365}, result), HasSubstr("too few pairs"));
  comparison.rule = {};
  comparison.cells = {cell_of("slow", 8, 0.5, 0.005, comparison.rule)};
  EXPECT_EQ(gate_result(comparison).alarms.size(), 1U);
}

}  // namespace
}  // namespace assay
