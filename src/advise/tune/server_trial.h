// Trials of a server's parameters: the command to start, and the score of a load. Pure functions.
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

/// The command's words plus those `settings` that are not environment variables, as "--NAME VALUE":
/// they replace the value of an option that is already there, else they go to the end.
std::vector<std::string> with_parameters(std::vector<std::string> words, const Settings& settings);

/// A latency that must not be exceeded.
struct LatencyLimit {
  std::string name;               ///< "p99_e2el"; counted from when requests were sent
  std::optional<double> percent;  ///< 99; empty: the mean
  double seconds = 0;

  /// As records have it: "p99_9_itl", "median_ttft".
  std::string metric() const;
};
/// "p99_e2el:500ms,mean_ttft:200ms". Error: usage.
Result<std::vector<LatencyLimit>> parse_latency_limits(std::string_view text);

/// Of a load's record: goodput if the load has limits for it, else output throughput. A void run
/// has no score.
TrialScore score_of(const Record& record, std::span<const LatencyLimit> limits);

}  // namespace assay
