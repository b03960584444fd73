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
  std::size_t n = 0;
  double mean = 0;
  /// Empty where the values drift over the run: their mean is that of no steady quantity.
  std::optional<Interval> mean95;
  double median = 0;
  Interval median95;
  double deviation = 0;  ///< population standard deviation
  double maximum = 0;
  std::vector<Percentile> percentiles;

  /// Null if that percentile was not asked for.
  const Percentile* percentile(double percent) const;
};

/// One value of each request, in the order of sending, so that correlation between successive
/// requests widens the intervals. Intervals of percentiles come from order statistics, that of the
/// mean from Student's t; there is none where the values follow a trend, or where successive ones
/// are so alike that they count for few. `percents` lie strictly between 0 and 100.
Latency latency_of(const std::vector<double>& values, std::span<const double> percents);

/// The gaps of one reply, each multiplied by `scale`.
struct ReplyGaps {
  std::span<const float> seconds;
  double scale = 1;
};

/// All gaps pooled, like vLLM's ITL. Gaps of one reply are correlated, so the intervals come from a
/// bootstrap over replies (Efron & Tibshirani 1993, ch. 8). Instead of pooling the gaps of each
/// resample, it resamples the share of gaps below the estimated percentile and converts the result
/// to gaps through their distribution (Woodruff 1952, J. Am. Stat. Assoc. 47). `resamples` is
/// lowered if replies times resamples exceed 20 million. With 0 resamples or a single reply, the
/// intervals are the values themselves.
Latency pooled_latency_of(std::vector<ReplyGaps> replies, std::span<const double> percents,
                          std::uint64_t seed, std::size_t resamples);

}  // namespace assay
