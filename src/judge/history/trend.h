// Says how a series developed over time: where and by how much it changed, and what else changed
// then.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/compare/fingerprint_diff.h"
#include "judge/history/history.h"
#include "statistics/change_points.h"

namespace assay {

struct TrendChange {
  std::string time, run;     ///< time and id of the first run after the change
  std::string previous_run;  ///< the last run before it
  double time_ratio = 1;     ///< geometric means of times, after over before: above 1 means slower
  double p = 1;              ///< p of this test alone
  bool sure = false;         ///< significant after Holm's correction over all series shown
  bool environment_known = false;  ///< both runs' fingerprints are known
  /// Differences between the two runs' environments, likeliest first.
  std::vector<Difference> differences;

  bool worse() const { return time_ratio > 1; }
};

struct Trend {
  HistorySeries series;
  std::vector<TrendChange> changes;  ///< in time order

  /// Returns whether the latest change is sure and for the worse.
  bool got_worse() const;
};

/// Returns the trend of every series of `all`. Changes are searched in all points; then those
/// before `since` (a date; empty: no limit) are left out. `rule.magnitude` is in logarithms. Error:
/// that of the file.
Result<std::vector<Trend>> trends_of(const History& history, std::vector<HistorySeries> all,
                                     const ChangePointRule& rule, std::string_view since);

}  // namespace assay
