// A comparison as a gate that runs again and again, e.g. every night: which level holds its rate of
// false alarms. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "judge/compare/comparison.h"

namespace assay {

/// The alarm is the verdict SLOWER of any cell. Alarms are false if no cell is slower by more than
/// the margin.
struct RegressionGate {
  double alarms_per_year = 1;  ///< false ones, at most
  double runs_per_year = 365;

  /// Returns the highest probability of a false alarm in one run.
  double level() const { return alarms_per_year / runs_per_year; }
};

/// Parses how often alarms may be false and how often the gate runs: "1/year", "2/month", "day",
/// "20/day". Error: usage, also if the level is not between 0.1% and 2.5%.
Result<RegressionGate> parse_gate(std::string_view alarms, std::string_view every);

/// Returns the rule with twice the gate's level as VerdictRule::alpha, because the tests of a
/// difference in one direction have half of it.
VerdictRule rule_of_gate(VerdictRule rule, const RegressionGate& gate);

struct GateOutcome {
  /// SLOWER cells, the largest change first, without those whose sides drift by themselves: the
  /// rule for these holds no level.
  std::vector<const CellComparison*> alarms;
  std::vector<const CellComparison*> invalid;  ///< INVALID cells
  /// The least slow-down of a single cell that one run of the gate finds with 90% probability, in
  /// the cell where it is largest: 0.05 is 5% more time. Empty: there is no cell, or some cell has
  /// too few pairs, or sides that drift by themselves, and cannot raise an alarm.
  std::optional<double> detectable;
};
/// `comparison` must have been made with rule_of_gate() and must outlive the result.
GateOutcome gate_result(const Comparison& comparison);

/// Returns the gate's error rate as a sentence: "sound changes raise at most 1 false alarm a year
/// at 365 runs a year (0.27% for a run); ...".
std::string gate_sentence(const RegressionGate& gate, const GateOutcome& result);

}  // namespace assay
