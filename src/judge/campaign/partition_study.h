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

/// A ratio over pairs: the geometric mean with its 95% interval (Student's t on logarithms).
struct StudyRatio {
  double ratio = 1;
  Interval interval95;
  std::size_t pairs = 0;
};

struct StudyPart {
  std::string environment;
  double each = 0, together = 0;  ///< medians over units, in the metric's unit
  StudyRatio interference;        ///< together over each: for a rate, below 1 means slower
};

/// One metric of one cell, measured in all partitions.
struct StudyCell {
  std::string cell, metric, unit;
  Better better = Better::higher;
  bool emulated = false;  ///< devices are emulated, so values come from a model
  std::vector<StudyPart> parts;
  /// Sum over partitions, only for rates; the median over pairs.
  std::optional<double> sum;
  std::optional<double> whole;  ///< value of the undivided device
  std::optional<StudyRatio> sum_to_whole;
  std::string worst;  ///< the slowest partition when all run together
};

/// `values` is indexed by environment (the store's name) and pair. Cells without a pair in every
/// partition are left out.
std::vector<StudyCell> conclude_study(
    const StudyPlan& study,
    const std::map<std::pair<std::string, std::size_t>, UnitValues>& values);

Json to_json(const StudyCell& cell);

}  // namespace assay
