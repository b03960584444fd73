// Conclusions of a partition study: what the partitions deliver together, the slowest of them, and
// what running together costs each. Pure functions.
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
  bool emulated = false;  ///< of emulated devices: the values come from a model
  std::vector<StudyPart> parts;
  /// Only of rates: latencies do not add up. Medians over pairs.
  std::optional<double> sum;
  std::optional<double> whole;  ///< the undivided device's
  std::optional<StudyRatio> sum_to_whole;
  std::string worst;  ///< the slowest partition when all run together
};

/// `values`: by environment (the store's name) and pair. Cells without a pair in every partition
/// are left out.
std::vector<StudyCell> conclude_study(
    const StudyPlan& study,
    const std::map<std::pair<std::string, std::size_t>, UnitValues>& values);

Json to_json(const StudyCell& cell);

}  // namespace assay
