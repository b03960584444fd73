// Conclusions of a partition study: the sum over partitions, the slowest partition, and the
// slowdown when all run together. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/campaign/plan.h"
#include "judge/campaign/unit_values.h"
#include "results/record/record.h"
#include "statistics/summary.h"

namespace assay {

/// Geometric mean over pairs of the ratio of two values of one pair, with its 95% interval
/// (Student's t on logarithms). For a single pair the interval is 0 to infinity; without a pair
/// nothing is known.
struct StudyRatio {
  double ratio = 1;
  Interval interval95;
  std::size_t pairs = 0;
};

struct StudyPart {
  std::string environment;
  double alone = 0, together = 0;  ///< medians over units, in the metric's unit
  StudyRatio interference;         ///< together over alone: for a rate, below 1 means slower
};

/// One metric of one cell, measured in all partitions.
struct StudyCell {
  std::string cell, metric, unit;
  Better better = Better::higher;
  bool emulated = false;  ///< devices are emulated, so values come from a model
  std::vector<StudyPart> parts;
  /// For rates: the sum of all partitions' values together, the median over the pairs that all
  /// have. Empty for other metrics, and without such a pair.
  std::optional<double> sum;
  std::optional<double> whole;  ///< the undivided device, median over units; empty: not measured
  std::optional<StudyRatio> sum_to_whole;  ///< empty if no pair has the sum and the whole
  std::string worst;  ///< partition with the lowest rate or highest latency together (medians)
};

/// `values` is indexed by environment and pair; what partition NAME measures beside the others is
/// in environment together_of(NAME). Concludes about the partitions in `study.together`, and leaves
/// out a cell unless each of them has a pair with both values.
std::vector<StudyCell> conclude_study(
    const StudyPlan& study,
    const std::map<std::pair<std::string, std::size_t>, UnitValues>& values);

/// Returns an entry of study.json: `assay campaign` writes an array of them.
Json to_json(const StudyCell& cell);

}  // namespace assay
