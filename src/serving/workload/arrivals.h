// When requests arrive: absolute times, all fixed before the first request is sent, so that a slow
// server does not reduce the load. Generated as in `vllm bench serve`.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/result.h"
#include "serving/workload/prompt.h"

namespace assay {

/// The rate rises or falls from the first request to the last, as a function of the request's
/// index.
struct RateRamp {
  bool exponential = false;    ///< it changes by equal factors, otherwise by equal steps
  double first = 0, last = 0;  ///< requests per second
};

struct ArrivalSettings {
  double rate = std::numeric_limits<double>::infinity();  ///< per second; infinite: all at 0
  /// Gaps are gamma distributed with this shape, so their CV^2 is 1/burstiness: 1 is a Poisson
  /// process, below 1 there are bursts, infinite means equal gaps.
  double burstiness = 1;
  std::optional<RateRamp> ramp;  ///< instead of `rate`
};

/// When each of `n` requests arrives, in seconds after the start, non-decreasing; the first one
/// also waits for its gap. Without a ramp the times are scaled so that the last is n / rate, as in
/// vLLM, so that every seed offers exactly the rate. Error: usage, if a rate or the burstiness is
/// not above 0, or a ramp's rate or the burstiness is out of bounds.
Result<std::vector<double>> arrivals(std::size_t n, const ArrivalSettings& settings,
                                     std::uint64_t seed);

/// Recorded arrival times, relative to the first, `speed` times as fast. Error: usage, if speed is
/// not above 0, or if the data have no times or times that decrease.
Result<std::vector<double>> recorded_arrivals(const Prompts& prompts, double speed);

}  // namespace assay
