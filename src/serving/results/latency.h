// What is said of many latencies: as vLLM says it, and how sure it is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "serving/results/request_log.h"
#include "statistics/summary.h"

namespace assay {

struct Percentile {
  double percent = 0;  ///< 99: of all values, 99% are no larger
  double value = 0;    ///< seconds, between two values interpolated linearly
  Interval interval95;
};

/// All in seconds; every interval holds its value; all 0 if there is no value, as vLLM has it.
struct Latency {
  std::size_t n = 0;
  double mean = 0;
  Interval mean95;
  double median = 0;
  Interval median95;
  double deviation = 0;  ///< of the population
  double maximum = 0;
  std::vector<Percentile> percentiles;

  /// Null if that percentile was not asked for.
  const Percentile* percentile(double percent) const;
};

/// One value of each request, in the order of sending, so that dependence between neighbours widens
/// the intervals: of percentiles from order statistics, of the mean from Student's t. `percents`
/// between 0 and 100, both excluded.
Latency latency_of(const std::vector<double>& values, std::span<const double> percents);

/// The gaps of one reply, each multiplied by `scale`.
struct ReplyGaps {
  std::span<const float> seconds;
  double scale = 1;
};

/// All gaps pooled, as vLLM's ITL. Gaps of one reply depend on each other, so the intervals come
/// from a bootstrap over replies (Efron & Tibshirani 1993, ch. 8). It does not pool anew each time:
/// it draws the share of gaps below an estimated percentile, and goes back to gaps through their
/// distribution (Woodruff 1952, J. Am. Stat. Assoc. 47). `resamples` is lowered where replies times
/// resamples exceed 20 million; 0 or a single reply: the intervals are the values themselves.
Latency pooled_latency_of(std::vector<ReplyGaps> replies, std::span<const double> percents,
                          std::uint64_t seed, std::size_t resamples);

}  // namespace assay
