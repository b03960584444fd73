// Two result sets compared: a verdict for every cell and for the whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/result_set.h"
#include "compare/verdict.h"
#include "system/fingerprint_diff.h"

namespace assay {

struct CellComparison {
  SeriesKey key;
  std::string benchmark;
  std::vector<std::pair<std::string, std::string>> axes;
  std::string unit;
  Better better = Better::higher;
  std::vector<double> a,
      b;  ///< the units' values; of pairs in pairs' order, then the unpaired rest
  double median_a = 0, median_b = 0;
  double ratio = 1;  ///< B over A in the metric itself; exp of the mean log ratio
  Interval ratio95;
  PairedEffect effect;  ///< in log ratios of times: positive is slower
  std::optional<PairedEffect> control;
  Control control_state = Control::absent;
  Judgement judgement;
  bool differs_corrected = false;  ///< still different after Holm's correction over all cells
  bool equal_corrected = false;    ///< still equal after it
};

/// Over all cells.
struct Summation {
  Judgement judgement;         ///< of the claim "B equals A on all cells"
  double ratio = 1;            ///< geometric mean of B's time over A's: above 1 is slower
  Interval ratio95;            ///< from the per-pair means over cells
  std::size_t counts[7] = {};  ///< cells by verdict
};

struct Comparison {
  std::string name_a, name_b;
  std::string path_a, path_b;
  bool paired = false;
  VerdictRule rule;
  std::size_t units_a = 0, units_b = 0, pairs = 0;
  std::vector<CellComparison> cells;  ///< in the order of SeriesKey
  Summation all;
  std::vector<Difference> environment;  ///< of the fingerprints, likeliest first
  std::vector<std::string> problems;
};

/// `control`: the second measurement of A, if there was one. Cells that only one side has are
/// INVALID: "missing".
Comparison compare(const ResultSet& a, const ResultSet& b, const ResultSet* control,
                   const VerdictRule& rule);

/// docs/schema.md, "A comparison".
Json to_json(const Comparison& comparison);

}  // namespace assay
