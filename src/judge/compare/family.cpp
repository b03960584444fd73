#include "judge/compare/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "statistics/dependence.h"
#include "statistics/joint_flips.h"
#include "statistics/multiplicity.h"

namespace assay {
namespace {

/// Returns the mean over cells of every pair that has a value in all members. Each cell counts
/// once, however many metrics it has.
PairedSeries mean_over_cells(std::span<const PairedMember> members) {
  std::map<std::size_t, std::size_t> metrics;  // number of metrics of each cell
  for (const PairedMember& member : members) ++metrics[member.cell];
  struct Sum {
    double sum = 0;
    std::size_t members = 0;
  };
  std::map<std::size_t, Sum> by_pair;
  for (const PairedMember& member : members) {
    const double weight = 1 / static_cast<double>(metrics[member.cell] * metrics.size());
    for (std::size_t i = 0; i < member.differences.pairs.size(); ++i) {
      Sum& sum = by_pair[member.differences.pairs[i]];
      sum.sum += weight * member.differences.differences[i];
      ++sum.members;
    }
  }
  PairedSeries mean;
  for (const auto& [pair, sum] : by_pair) {
    if (sum.members != members.size()) continue;
    mean.pairs.push_back(pair);
    mean.differences.push_back(sum.sum);
  }
  return mean;
}

std::size_t draws_of(const PairedSeries& series, std::size_t pairs_per_draw) {
  std::set<std::size_t> draws;
  for (const std::size_t pair : series.pairs) draws.insert(pair / pairs_per_draw);
  return draws.size();
}

/// Tests each series by joint sign flips. Drifting series are left out, because sign flips ignore
/// drift.
std::vector<FamilyTest> tests_by_flips(std::span<const PairedSeries> all,
                                       std::span<const PairedEffect> effects, std::size_t cells,
                                       std::size_t pairs_per_draw, const VerdictRule& rule) {
  std::vector<FamilyTest> tests(all.size());
  std::vector<PairedSeries> family;
  std::vector<double> dependence;
  std::vector<std::size_t> index;
  bool any_slower = false, any_faster = false;
  const FlipRule flips{.pairs_per_draw = pairs_per_draw, .least_draws = rule.least_draws()};
  for (std::size_t i = 0; i < all.size(); ++i) {
    tests[i].cells = cells;
    const std::size_t draws = draws_of(all[i], pairs_per_draw);
    if (draws < flips.least_draws) {
      tests[i].pairs_short = (flips.least_draws - draws) * pairs_per_draw;
    }
    if (effects[i].drifts()) continue;
    family.push_back(all[i]);
    dependence.push_back(effects[i].dependence);
    index.push_back(i);
    any_slower |= effects[i].mean > rule.log_margin();
    any_faster |= effects[i].mean < -rule.log_margin();
  }
  const auto test = [&](Alternative alternative, double bound, double FamilyTest::*p) {
    const std::vector<double> found =
        joint_flip_test(family, dependence, alternative, bound, flips);
    for (std::size_t i = 0; i < index.size(); ++i) tests[index[i]].*p = found[i];
  };
  test(Alternative::different, 0, &FamilyTest::p_different);
  // A mean that is not beyond the margin cannot prove a difference beyond it, whatever the flips
  // say.
  if (any_slower) test(Alternative::above, rule.log_margin(), &FamilyTest::p_slower);
  if (any_faster) test(Alternative::below, -rule.log_margin(), &FamilyTest::p_faster);
  return tests;
}

/// Both sides of a control are the same, so the drift of one side does not widen it.
void judge_controls(std::span<const PairedMember> members, JudgedFamily& family,
                    const VerdictRule& rule) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].control) continue;
    JudgedMember& judged = family.members[i];
    const std::vector<double>& control = members[i].control->differences;
    judged.control = paired_effect(control, rule.log_margin());
    judged.control_state = judge_control(*judged.control, rule, members.size());
    allow_for_control(judged.effect, members[i].differences.differences, control,
                      rule.log_margin());
  }
}

/// Returns the ruling over all cells if the mean differs but no single cell is proven to differ.
Ruling mean_alone(Verdict verdict, const JudgedMember& mean, const VerdictRule& rule) {
  return {verdict, "mean_differs",
          fmt::format("the geometric mean over cells is {}{}, although no cell is proven different "
                      "by itself",
                      mean.effect.mean > 0 ? "slower" : "faster",
                      verdict == Verdict::shifted
                          ? ""
                          : fmt::format(" by more than the margin of {:.2g}%", 100 * rule.margin))};
}

std::string of_cells(std::size_t count, std::size_t total) {
  return fmt::format("{} of {} cell{}", count, total, total == 1 ? "" : "s");
}

}  // namespace

JudgedFamily judge_family(std::span<const PairedMember> members, std::size_t pairs_per_draw,
                          const VerdictRule& rule) {
  JudgedFamily family;
  std::vector<PairedSeries> all;
  for (const PairedMember& member : members) all.push_back(member.differences);
  const bool has_mean = members.size() > 1;
  if (has_mean) all.push_back(mean_over_cells(members));
  std::vector<PairedEffect> effects = paired_effects(all, rule.log_margin());
  const std::vector<FamilyTest> tests =
      tests_by_flips(all, effects, members.size(), pairs_per_draw, rule);
  for (std::size_t i = 0; i < all.size(); ++i) {
    family.members.push_back(
        {std::move(effects[i]), std::nullopt, Control::off, tests[i], Ruling{}});
  }
  judge_controls(members, family, rule);
  for (JudgedMember& member : family.members) {
    member.ruling = judge(member.effect, member.test, true, member.control_state, rule);
  }
  if (has_mean) {
    if (family.members.back().effect.pairs > 0) family.mean = std::move(family.members.back());
    family.members.pop_back();
  }
  return family;
}

JudgedFamily judge_family(std::span<const UnpairedMember> members, const VerdictRule& rule) {
  JudgedFamily family;
  std::vector<FamilyTest> by_themselves;
  for (const UnpairedMember& member : members) {
    JudgedMember judged;
    judged.effect = unpaired_effect(member.a, member.b);
    by_themselves.push_back(alone(judged.effect, rule));
    family.members.push_back(std::move(judged));
  }
  for (double FamilyTest::*p :
       {&FamilyTest::p_different, &FamilyTest::p_slower, &FamilyTest::p_faster}) {
    std::vector<double> all;
    for (const FamilyTest& test : by_themselves) all.push_back(test.*p);
    const std::vector<double> adjusted = holm_adjusted(all);
    for (std::size_t i = 0; i < all.size(); ++i) family.members[i].test.*p = adjusted[i];
  }
  for (JudgedMember& member : family.members) {
    member.test.cells = members.size();
    member.ruling = judge(member.effect, member.test, false, Control::off, rule);
  }
  return family;
}

Ruling judge_whole(std::span<const CellRuling> cells, const std::optional<JudgedMember>& mean,
                   const VerdictRule& rule) {
  const std::size_t total = cells.size();
  if (total == 0) return {Verdict::invalid, "nothing", "neither has a result to compare"};
  std::array<std::size_t, verdict_count> counts = {};
  std::size_t missing = 0, slower = 0, faster = 0;
  for (const auto& [ruling, cell_mean] : cells) {
    ++counts[static_cast<std::size_t>(ruling.verdict)];
    missing += ruling.code == "missing" ? 1 : 0;
    if (is_different(ruling.verdict)) ++(cell_mean > 0 ? slower : faster);
  }
  const auto count = [&](Verdict verdict) { return counts[static_cast<std::size_t>(verdict)]; };
  if (missing == total) return {Verdict::invalid, "nothing", "the two have no cell in common"};
  if (count(Verdict::invalid) > 0) {
    return {Verdict::invalid, "invalid_cells",
            fmt::format("{} cannot be judged", of_cells(count(Verdict::invalid), total))};
  }
  if (count(Verdict::equal) == total) {
    return {Verdict::equal, "every_cell_equal",
            fmt::format("{} equal within {:.2g}%",
                        total == 1 ? "its only cell is" : fmt::format("all {} cells are", total),
                        100 * rule.margin)};
  }
  if (slower + faster > 0) {
    std::vector<std::string> parts;
    if (slower > 0) parts.push_back(fmt::format("{} slower", of_cells(slower, total)));
    if (faster > 0) parts.push_back(fmt::format("{} faster", of_cells(faster, total)));
    std::string text = fmt::format("{}", fmt::join(parts, " and "));
    if (const std::size_t shifted = count(Verdict::shifted); shifted > 0) {
      text += fmt::format(", {} of them maybe by less than the margin of {:.2g}%", shifted,
                          100 * rule.margin);
    }
    if (count(Verdict::slower) > 0 && faster == 0) return {Verdict::slower, "cells_slower", text};
    if (count(Verdict::faster) > 0 && slower == 0) return {Verdict::faster, "cells_faster", text};
    return {Verdict::shifted, "cells_differ", text};
  }
  if (mean && is_different(mean->ruling.verdict)) {
    return mean_alone(mean->ruling.verdict, *mean, rule);
  }
  if (count(Verdict::unstable) > 0) {
    return {
        Verdict::unstable, "unstable_cells",
        fmt::format("some pairs of {} are outliers", of_cells(count(Verdict::unstable), total))};
  }
  return {Verdict::inconclusive, "cells_open",
          fmt::format("{} proven equal, none proven different",
                      of_cells(count(Verdict::equal), total))};
}

}  // namespace assay
