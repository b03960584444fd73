// Trials of a server's parameters: the command line of the server, and the score of a load. Pure
// functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "advise/tune/settings.h"
#include "advise/tune/tuning.h"
#include "core/result.h"
#include "results/record/record.h"

namespace assay {

/// Returns the command line `words` with those `settings` that are not environment variables added
/// as "--NAME VALUE". A setting replaces the value of an option that is already there; otherwise it
/// is appended.
std::vector<std::string> with_parameters(std::vector<std::string> words, const Settings& settings);

/// A latency that must not be exceeded.
struct LatencyLimit {
  /// "p99_e2el": "mean" or a percentile, and ttft, tpot, itl or e2el, measured from the sending of
  /// a request.
  std::string name;
  std::optional<double> percent;  ///< 99; empty: the mean
  double seconds = 0;

  /// Returns the name of the metric in records: "p99_9_itl", "median_ttft".
  std::string metric() const;
};
/// Parses "p99_e2el:500ms,mean_ttft:200ms". Error: usage.
Result<std::vector<LatencyLimit>> parse_latency_limits(std::string_view text);

/// Scores a load's record by its goodput if the load has limits for it, otherwise by its output
/// throughput. A run that failed or is void has no score; a run that exceeds a limit has a
/// score and a problem.
TrialScore score_of(const Record& record, std::span<const LatencyLimit> limits);

}  // namespace assay
