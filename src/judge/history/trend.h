// How a series went over time: where it changed, by how much, and what changed with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/history/history.h"
#include "machine/system/fingerprint_diff.h"
#include "statistics/change_points.h"

namespace assay {

struct TrendChange {
  std::string time, run;     ///< of the first run after it
  std::string previous_run;  ///< the last before it
  double time_ratio = 1;     ///< geometric means of times, after over before: above 1 is slower
  double p = 1;              ///< of one test
  bool sure = false;         ///< also with Holm's correction over all series looked at
  bool environment_known = false;       ///< both runs' fingerprints are there
  std::vector<Difference> differences;  ///< of the two runs' environments, likeliest first

  bool worse() const { return time_ratio > 1; }
};

struct Trend {
  HistorySeries series;
  std::vector<TrendChange> changes;  ///< in the order of time

  /// The latest change is for the worse, and sure.
  bool got_worse() const;
};

/// Of every series of `all`. Changes are looked for in all points; those of runs before `since` (a
/// date; empty: none) are then left out. `rule.magnitude` is of logarithms. Error: of the file.
Result<std::vector<Trend>> trends_of(const History& history, std::vector<HistorySeries> all,
                                     const ChangePointRule& rule, std::string_view since);

}  // namespace assay
