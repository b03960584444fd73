// Compares two result sets, A and B: a verdict for every metric of every cell, and one for the
// whole.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/compare/family.h"
#include "judge/compare/fingerprint_diff.h"
#include "judge/compare/result_set.h"

namespace assay {

/// One metric of one cell on both sides. If only one side has it, it is INVALID, and the other
/// side's values are empty.
struct CellComparison {
  SeriesKey key;
  std::string benchmark;
  std::vector<std::pair<std::string, std::string>> axes;  ///< names and values
  std::string unit;
  Better better = Better::higher;
  std::optional<Roof> roof;  ///< in `unit`
  /// One value per unit. If paired, a[i] and b[i] form a pair; units whose pair is incomplete or
  /// left out are missing. An INVALID metric may have all units' values instead, which form no
  /// pairs.
  std::vector<double> a, b;
  double median_a = 0, median_b = 0;  ///< of `a` and `b`; 0 without values
  /// Geometric mean of B over A in `unit`, so that above 1 means better if higher is better; 1 if
  /// it could not be compared.
  double ratio = 1;
  Interval ratio95;                     ///< 95% interval of `ratio`, from Student's t
  PairedEffect effect;                  ///< effect on logarithms of times: positive means slower
  std::optional<PairedEffect> control;  ///< A' against A; empty without a control
  Control control_state = Control::off;
  FamilyTest test;   ///< p-values, adjusted for all metrics of all cells
  Ruling judgement;  ///< the verdict

  /// Returns whether `ratio95` is worth showing: it is finite and comes from at least least_units
  /// pairs (statistics/paired.h). From fewer it may span a factor of thousands.
  bool has_interval() const;
};

/// One figure besides speed, such as a loss or memory, that both sides have in the same unit.
struct SideComparison {
  SeriesKey key;
  std::string unit;
  double median_a = 0, median_b = 0;
  bool same = false;  ///< whether all results of both sides have the same value
};

/// Results over all cells.
struct Summation {
  Ruling judgement;  ///< the verdict on the whole
  /// Geometric mean over cells of B's time over A's; above 1 means slower. Each cell counts once,
  /// however many metrics it has. Empty if no cell could be compared.
  std::optional<double> ratio;
  /// 95% interval of `ratio`, which are then both from the pairs' means over cells. Empty if not
  /// paired, or if fewer than least_units pairs (statistics/paired.h) have a value in every cell.
  std::optional<Interval> ratio95;
  /// Verdict on the geometric mean, judged like a cell; empty like `ratio95`.
  std::optional<Verdict> mean_verdict;
  /// Numbers of `Comparison::cells` with each verdict; the index is the Verdict.
  std::array<std::size_t, verdict_count> counts = {};
};

/// Everything that a comparison of A with B found.
struct Comparison {
  std::string name_a, name_b;
  bool paired = false;  ///< whether both sides' units have pairs, so that verdicts are about these
  bool emulated = false;  ///< whether any device is emulated, so that verdicts are about a model
  VerdictRule rule;
  std::size_t units_a = 0, units_b = 0;  ///< numbers of units; of a campaign's, the complete ones
  std::size_t pairs_left_out = 0;        ///< because other programs disturbed them
  std::vector<CellComparison> cells;     ///< sorted by benchmark, axes (comes_before()) and metric
  std::vector<SideComparison> beside;    ///< sorted by cell and metric
  Summation all;
  /// Between the first fingerprint of each side, the likeliest explanation first; empty if a side
  /// has no fingerprint.
  std::vector<Difference> environment;
  /// Which pairs were left out, each side's ResultSet::problems, and whether a side's environment
  /// changed while it was measured; one line each.
  std::vector<std::string> problems;
};

/// Compares the sides in pairs if both have pairs; otherwise by Welch's t test, which proves no
/// equality. `control` is a second measurement of A; null if there is none, and not used without
/// pairs.
Comparison compare(const ResultSet& a, const ResultSet& b, const ResultSet* control,
                   const VerdictRule& rule);

}  // namespace assay
