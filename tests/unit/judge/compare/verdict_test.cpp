#include "judge/compare/verdict.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

using testing::HasSubstr;

const VerdictRule rule;

/// Alternating around `mean` so that deviation is `spread`, mean and median exact.
std::vector<double> around(double mean, double spread, std::size_t n = 12) {
  std::vector<double> d;
  // A pattern of four, so that neighbours are not correlated.
  for (std::size_t i = 0; i < n; ++i) d.push_back(mean + ((i / 2 + i) % 2 == 0 ? spread : -spread));
  return d;
}

Ruling judge_pairs(const std::vector<double>& d, Control control = Control::quiet) {
  const PairedEffect effect = paired_effect(d, rule.log_margin());
  return judge(effect, alone(effect, rule), true, control, rule);
}

TEST(Verdict, EachHasItsEvidence) {
  EXPECT_EQ(judge_pairs(around(0, 0.003)).verdict, Verdict::equal);
  EXPECT_EQ(judge_pairs(around(0.05, 0.003)).verdict, Verdict::slower);
  EXPECT_EQ(judge_pairs(around(-0.05, 0.003)).verdict, Verdict::faster);
  EXPECT_EQ(judge_pairs(around(0.021, 0.006)).verdict, Verdict::shifted);
  EXPECT_EQ(judge_pairs(around(0, 0.08)).verdict, Verdict::inconclusive);
}

TEST(Verdict, ASmallRealDifferenceIsEqualAndSaid) {
  const Ruling judgement = judge_pairs(around(0.005, 0.001));
  EXPECT_EQ(judgement.verdict, Verdict::equal);
  EXPECT_THAT(judgement.reason, HasSubstr("0.5% slower is real but small"));
}

TEST(Verdict, MissingEvidenceIsNeverEquality) {
  EXPECT_EQ(judge_pairs(around(0, 0.001, 5)).code, "too_few_units");
  EXPECT_EQ(judge_pairs({}).code, "too_few_units");
  EXPECT_EQ(judge_pairs({0.01}).reason, "1 pair; a verdict needs at least 6");
  EXPECT_EQ(judge_pairs({0.01, 0.02}).reason, "2 pairs; a verdict needs at least 6");
  EXPECT_EQ(judge_pairs(around(0, 0.003), Control::too_short).code, "control_too_short");
  EXPECT_EQ(judge_pairs(around(0, 0.003), Control::off).verdict, Verdict::equal);
}

TEST(Verdict, AMovedControlVoidsEverything) {
  for (const double mean : {0.0, 0.05}) {
    EXPECT_EQ(judge_pairs(around(mean, 0.003), Control::moved).code, "control_moved");
  }
}

TEST(Verdict, SeveralOutliersAreUnstable) {
  std::vector<double> d = around(0, 0.0005, 20);
  d[3] = 0.03;
  EXPECT_EQ(judge_pairs(d).verdict, Verdict::equal) << "one of twenty is reported, not judged";
  d[11] = 0.03;
  EXPECT_EQ(judge_pairs(d).verdict, Verdict::unstable);
}

TEST(Verdict, SaysHowManyPairsWouldDo) {
  const Ruling judgement = judge_pairs(around(0, 0.03));
  EXPECT_EQ(judgement.code, "not_precise");
  EXPECT_THAT(judgement.reason, testing::ContainsRegex("about [0-9]+ more"));
  EXPECT_EQ(judge_pairs(around(0.0198, 0.03)).code, "near_margin");
  EXPECT_EQ(judge_pairs(around(0.006, 0.9)).code, "too_noisy") << "noise is not nearness";
  EXPECT_EQ(judge_pairs(around(0.3, 9)).code, "too_noisy");
  EXPECT_EQ(judge_pairs(around(0.0198, 0.9)).code, "too_noisy") << "its middle happens to be near";
  // Far beyond the margin and noisy is not near it.
  EXPECT_EQ(judge_pairs(around(-0.39, 0.9)).code, "not_precise");
  EXPECT_EQ(
      judge_pairs(around(-0.39, 0.9)).more_pairs,
      values_needed(paired_effect(around(-0.39, 0.9), 1).deviation, 0.39 - rule.log_margin()) - 12);
}

TEST(Verdict, AnIntervalWithinTheMarginIsNotCalledImprecise) {
  std::vector<double> d = around(0, 0.0005, 11);
  d.push_back(0.06);  // the interval is [-0.7%, +1.7%]; a slow tail could hide more
  const Ruling judgement = judge_pairs(d);
  EXPECT_EQ(judgement.code, "not_precise");
  EXPECT_THAT(judgement.reason, HasSubstr("equal by its interval"));
}

TEST(Verdict, AsksForMorePairsPerValueWhereNeighboursDependOnEachOther) {
  PairedEffect independent;
  independent.pairs = 12;
  independent.n = 12;
  independent.deviation = 0.02;
  PairedEffect dependent = independent;
  dependent.pairs = 24;
  const std::size_t needed = values_needed(0.02, rule.log_margin());
  ASSERT_GT(needed, 12U);
  EXPECT_EQ(judge(independent, {}, true, Control::quiet, rule).more_pairs, needed - 12);
  EXPECT_EQ(judge(dependent, {}, true, Control::quiet, rule).more_pairs, 2 * (needed - 12));
}

TEST(Verdict, SidesThatDriftCannotBeToldApartUnlessTheyAreFarApart) {
  const auto judge_drifting = [](double mean) {
    const PairedEffect effect = paired_effect(around(mean, 0.01, 40), rule.log_margin(), 0.9);
    return judge(effect, alone(effect, rule), true, Control::quiet, rule);
  };
  for (const double mean : {0.0, 0.05}) {
    EXPECT_EQ(judge_drifting(mean).code, "sides_drift");
    EXPECT_THAT(judge_drifting(mean).reason,
                testing::MatchesRegex("cannot tell: the sides drift by themselves.*more pairs, "
                                      "further apart in time, may tell"));
  }
  FamilyTest older;
  older.pairs_short = 2;
  EXPECT_EQ(judge(paired_effect(around(0.2, 0.01, 40), rule.log_margin(), 0.9), older, true,
                  Control::quiet, rule)
                .code,
            "too_few_draws");
  EXPECT_EQ(judge_drifting(0.2).verdict, Verdict::slower);
  EXPECT_EQ(judge_drifting(-0.2).verdict, Verdict::faster);
}

TEST(Verdict, OneOfManyNeedsMoreThanItsOwnInterval) {
  const PairedEffect effect = paired_effect(around(0.05, 0.01), rule.log_margin());
  FamilyTest among;
  among.cells = 100;
  among.p_slower = among.p_different = 0.2;
  const Ruling open = judge(effect, among, true, Control::quiet, rule);
  EXPECT_EQ(open.code, "one_of_many");
  EXPECT_THAT(open.reason,
              HasSubstr("it looks slower, but one of 100 cells may look so by chance"));
  among.p_different = 0.04;
  EXPECT_EQ(judge(effect, among, true, Control::quiet, rule).verdict, Verdict::shifted);
  among.p_slower = 0.02;
  EXPECT_EQ(judge(effect, among, true, Control::quiet, rule).verdict, Verdict::slower);
  among.pairs_short = 2;
  among.p_different = among.p_slower = 1;
  EXPECT_EQ(judge(effect, among, true, Control::quiet, rule).code, "too_few_draws");
}

TEST(Verdict, MoreCellsNeedMoreOutliers) {
  EXPECT_EQ(unstable_outliers(1), 2u);
  EXPECT_EQ(unstable_outliers(9), 3u);
  EXPECT_EQ(unstable_outliers(100), 5u);
  EXPECT_EQ(unstable_outliers(1000), 6u);
}

TEST(Verdict, UnpairedDataProvesDifferencesOnly) {
  const std::vector<double> a = around(0, 0.003), b = around(0.05, 0.003);
  const auto judge_unpaired = [](const std::vector<double>& x, const std::vector<double>& y) {
    const PairedEffect effect = unpaired_effect(x, y);
    return judge(effect, alone(effect, rule), false, Control::off, rule);
  };
  EXPECT_EQ(judge_unpaired(a, a).code, "unpaired");
  const Ruling slower = judge_unpaired(a, b);
  EXPECT_EQ(slower.verdict, Verdict::slower);
  EXPECT_THAT(slower.reason, HasSubstr("UNPAIRED"));
}

TEST(Control, MovesOnlyBeyondAQuarterOfTheMargin) {
  const auto control = [](double mean, double spread, std::size_t n = 12) {
    return judge_control(paired_effect(around(mean, spread, n), rule.log_margin()), rule);
  };
  EXPECT_EQ(control(0, 0.01), Control::quiet);
  EXPECT_EQ(control(0.004, 0.0001), Control::quiet) << "real, but a fifth of the margin";
  EXPECT_EQ(control(0.02, 0.005), Control::moved);
  EXPECT_EQ(control(-0.02, 0.005), Control::moved);
  EXPECT_EQ(control(0.02, 0.005, 5), Control::too_short);
  const PairedEffect chance = paired_effect(around(0.02, 0.015), rule.log_margin());
  EXPECT_EQ(judge_control(chance, rule), Control::moved);
  EXPECT_EQ(judge_control(chance, rule, 1000), Control::quiet) << "one of a thousand by chance";
}

}  // namespace
}  // namespace assay
