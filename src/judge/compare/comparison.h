// Compares two result sets: a verdict for every cell and one for the whole.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "judge/compare/family.h"
#include "judge/compare/fingerprint_diff.h"
#include "judge/compare/result_set.h"

namespace assay {

/// One series on both sides, A and B.
struct CellComparison {
  SeriesKey key;
  std::string benchmark;
  std::vector<std::pair<std::string, std::string>> axes;  ///< names and values
  std::string unit;
  Better better = Better::higher;
  std::optional<Roof> roof;
  /// The units' values; if paired, a[i] and b[i] form a pair. Of an INVALID cell they may be all
  /// units' values, not matched.
  std::vector<double> a, b;
  double median_a = 0, median_b = 0;
  double ratio = 1;                     ///< geometric mean of B over A, in the metric itself
  Interval ratio95;                     ///< interval of `ratio`, from the t interval
  PairedEffect effect;                  ///< effect on logarithms of times: positive means slower
  std::optional<PairedEffect> control;  ///< A' against A
  Control control_state = Control::off;
  FamilyTest test;   ///< judged among all cells
  Ruling judgement;  ///< the verdict

  /// Returns whether `ratio95` is meaningful; with too few pairs it may span a factor of thousands.
  bool has_interval() const;
};

/// One figure besides speed, such as a loss or memory, that both sides have in the same unit.
struct SideComparison {
  SeriesKey key;
  std::string unit;
  double median_a = 0, median_b = 0;
  bool same = false;  ///< all units of both sides have the same value
};

/// Results over all cells.
struct Summation {
  Ruling judgement;
  /// Geometric mean over cells of B's time over A's; above 1 means slower. Empty if no cell has
  /// both.
  std::optional<double> ratio;
  /// From the pairs' means over cells; empty if not paired, or if fewer than least_units pairs
  /// (statistics/paired.h) have a value in every cell.
  std::optional<Interval> ratio95;
  /// Verdict on the geometric mean, judged like a cell; empty like `ratio95`.
  std::optional<Verdict> mean_verdict;
  std::array<std::size_t, verdict_count> counts = {};  ///< cells by verdict
};

/// Everything that a comparison of A with B found.
struct Comparison {
  std::string name_a, name_b;
  bool paired = false;
  bool emulated = false;  ///< devices are emulated, so the verdict is about a model
  VerdictRule rule;
  std::size_t units_a = 0, units_b = 0;
  std::size_t pairs_left_out = 0;      ///< because other programs disturbed them
  std::vector<CellComparison> cells;   ///< sorted by benchmark, axes (comes_before()) and metric
  std::vector<SideComparison> beside;  ///< sorted by cell and metric
  Summation all;
  /// Between the first fingerprint of each side, the likeliest explanation first.
  std::vector<Difference> environment;
  std::vector<std::string> problems;  ///< what was left out, and ResultSet::problems
};

/// `control` is a second measurement of A; null if there is none. A cell that only one side has is
/// INVALID.
Comparison compare(const ResultSet& a, const ResultSet& b, const ResultSet* control,
                   const VerdictRule& rule);

}  // namespace assay
