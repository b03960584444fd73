// Two result sets compared: a verdict for every cell and one for the whole.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "judge/compare/family.h"
#include "judge/compare/fingerprint_diff.h"
#include "judge/compare/result_set.h"

namespace assay {

struct CellComparison {
  SeriesKey key;
  std::string benchmark;
  std::vector<std::pair<std::string, std::string>> axes;
  std::string unit;
  Better better = Better::higher;
  std::optional<Roof> roof;
  std::vector<double> a, b;  ///< the units' values; if paired, a[i] and b[i] form a pair
  double median_a = 0, median_b = 0;
  double ratio = 1;                     ///< geometric mean of B over A, in the metric itself
  Interval ratio95;                     ///< of `ratio`, from the t interval
  PairedEffect effect;                  ///< of logarithms of times: positive means slower
  std::optional<PairedEffect> control;  ///< A' against A
  Control control_state = Control::off;
  FamilyTest test;  ///< among all cells
  Ruling judgement;

  /// Whether `ratio95` says something: of fewer pairs it may span a factor of thousands.
  bool has_interval() const;
};

/// What both sides came to besides speed.
struct SideComparison {
  SeriesKey key;
  std::string unit;
  double median_a = 0, median_b = 0;
  bool same = false;  ///< all units of both sides have the same value
};

/// Over all cells.
struct Summation {
  Ruling judgement;
  /// Geometric mean over cells of B's time over A's: above 1 means slower. Empty: no cell has both.
  std::optional<double> ratio;
  std::optional<Interval> ratio95;  ///< from the pairs' means over cells; paired data only
  /// Of the geometric mean, judged as one of the cells; empty as `ratio95`.
  std::optional<Verdict> mean_verdict;
  std::array<std::size_t, verdict_count> counts = {};  ///< cells by verdict
};

struct Comparison {
  std::string name_a, name_b;
  bool paired = false;
  bool emulated = false;  ///< the devices are emulated: the verdict is about a model
  VerdictRule rule;
  std::size_t units_a = 0, units_b = 0;
  double most_taken = 0;  ///< of the CPUs' time, by other programs during any result of either
  std::vector<CellComparison> cells;   ///< by benchmark, axes (comes_before()) and metric
  std::vector<SideComparison> beside;  ///< by cell and metric
  Summation all;
  std::vector<Difference> environment;  ///< likeliest explanation first
  std::vector<std::string> problems;
};

/// `control` is A measured a second time; null if it was not. A cell that only one side has is
/// INVALID.
Comparison compare(const ResultSet& a, const ResultSet& b, const ResultSet* control,
                   const VerdictRule& rule);

}  // namespace assay
