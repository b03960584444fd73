#include "judge/compare/regression_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/units.h"
#include "statistics/distributions.h"

namespace assay {
namespace {

// Tests by sign flips make 4,096 flips at most, so a smaller level would rest on one or two of
// them.
constexpr double least_level = 0.001, most_level = 0.025;

constexpr std::array<std::pair<std::string_view, double>, 5> periods = {
    {{"hour", 365.25 * 24}, {"day", 365.25}, {"week", 365.25 / 7}, {"month", 12}, {"year", 1}}};

/// Parses "2/month", or "month" for once a month.
Result<double> times_per_year(std::string_view option, std::string_view text) {
  const std::size_t slash = text.find('/');
  double times = 1;
  if (slash != text.npos) {
    const auto number = parse_integer(text.substr(0, slash));
    times = number.ok() ? static_cast<double>(*number) : 0;
  }
  const std::string_view period = slash == text.npos ? text : text.substr(slash + 1);
  const auto* const known =
      std::ranges::find(periods, period, &std::pair<std::string_view, double>::first);
  if (known == periods.end() || !(times >= 1 && times <= 1e6)) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: \"{}\" is not a number of times; allowed: day, 1/year, 20/day, "
                             "with hour, day, week, month or year",
                             option, text)};
  }
  return times * known->second;
}

}  // namespace

Result<RegressionGate> parse_gate(std::string_view alarms, std::string_view every) {
  const RegressionGate gate{TRY(times_per_year("--alarms", alarms)),
                            TRY(times_per_year("--every", every))};
  if (gate.level() >= least_level && gate.level() <= most_level) return gate;
  return Error{
      ErrorKind::usage,
      fmt::format("--alarms {} --every {} is a level of {:.2g} for each run; allowed: {} to "
                  "{}, e.g. --alarms 1/year --every day",
                  alarms, every, gate.level(), least_level, most_level)};
}

VerdictRule rule_of_gate(VerdictRule rule, const RegressionGate& gate) {
  rule.alpha = 2 * gate.level();
  return rule;
}

GateOutcome gate_result(const Comparison& comparison) {
  GateOutcome result;
  bool all_known = !comparison.cells.empty();
  double largest = 0;
  const double margin = comparison.rule.log_margin();
  for (const CellComparison& cell : comparison.cells) {
    // The rule for sides that drift by themselves has no level, so it raises no alarm.
    const bool slower = cell.judgement.verdict == Verdict::slower && !cell.effect.drifts();
    if (slower) result.alarms.push_back(&cell);
    if (cell.judgement.verdict == Verdict::invalid) result.invalid.push_back(&cell);
    const PairedEffect& effect = cell.effect;
    const bool known =
        cell.has_interval() && cell.test.pairs_short == 0 && effect.freedom > 0 && !effect.drifts();
    all_known = all_known && known;
    if (!known) continue;
    // A t test of "beyond the margin" with Bonferroni's correction for the cells and 90% power.
    const double cells = static_cast<double>(std::max<std::size_t>(1, cell.test.cells));
    const double z = student_t_quantile(1 - comparison.rule.alpha / 2 / cells, effect.freedom) +
                     normal_quantile(0.9);
    largest = std::max(largest, std::expm1(margin + z * effect.error));
  }
  if (all_known) result.detectable = largest;
  std::ranges::sort(result.alarms, [](const CellComparison* a, const CellComparison* b) {
    return a->effect.mean > b->effect.mean;
  });
  return result;
}

std::string gate_sentence(const RegressionGate& gate, const GateOutcome& result) {
  const auto number = [](double value) { return fmt::format("{:.3g}", value); };
  const std::string found =
      result.detectable
          ? fmt::format("a cell that takes {:.1f}% longer raises one in 90% of runs",
                        100 * *result.detectable)
          : "some cells have too few pairs, or sides that drift, and cannot raise one";
  return fmt::format(
      "sound changes raise at most {} false alarm{} a year at {} runs a year ({:.2f}% for a run); "
      "{}",
      number(gate.alarms_per_year), gate.alarms_per_year == 1 ? "" : "s",
      number(gate.runs_per_year), 100 * gate.level(), found);
}

}  // namespace assay
