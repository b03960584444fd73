// Statistics of many latencies, as vLLM defines them, with confidence intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "serving/results/request_log.h"
#include "statistics/summary.h"

namespace assay {

struct Percentile {
  double percent = 0;  ///< 99: 99% of all values are no larger
  double value = 0;    ///< seconds, linearly interpolated between two values
  Interval interval95;
};

/// All in seconds; every interval contains its value; all 0 if there are no values, as in vLLM.
struct Latency {
  std::size_t n = 0;  ///< number of values
  double mean = 0;
  /// Empty if the values have a trend or count for too few, see latency_of().
  std::optional<Interval> mean95;
  double median = 0;
  Interval median95;
  double deviation = 0;  ///< population standard deviation
  double maximum = 0;
  std::vector<Percentile> percentiles;

  /// Null if that percentile was not asked for.
  const Percentile* percentile(double percent) const;
};

/// Returns the statistics of `values`: one of each request, in seconds, in the order of sending, so
/// that correlation between successive requests widens the intervals. Intervals of percentiles come
/// from order statistics, and the interval of the mean from Student's t. The mean has none if the
/// values have a trend, or if autocorrelation leaves an effective number below 10 and below half of
/// them. The intervals of a single value are the value itself. `percents` lie strictly between 0
/// and 100.
Latency latency_of(const std::vector<double>& values, std::span<const double> percents);

/// Gaps between the token events of one reply, in seconds. Each is multiplied by `scale`: 1 for
/// seconds per event, or for seconds per token the number of gaps over that of tokens after the
/// first, because an event may hold several tokens.
struct ReplyGaps {
  std::span<const float> seconds;
  double scale = 1;
};

/// All gaps pooled, like vLLM's ITL. Gaps of one reply are correlated, so the intervals come from a
/// bootstrap over replies (Efron & Tibshirani 1993, ch. 8). For a percentile, each resample gives
/// the share of gaps that are at most the estimate. The interval of that share becomes one of gaps
/// through their distribution (Woodruff 1952, J. Am. Stat. Assoc. 47). `resamples` is lowered, to
/// no less than 100, if replies times resamples exceed 20 million. With 0 resamples or a single
/// reply that has gaps, the intervals are the values themselves.
Latency pooled_latency_of(std::vector<ReplyGaps> replies, std::span<const double> percents,
                          std::uint64_t seed, std::size_t resamples);

}  // namespace assay
