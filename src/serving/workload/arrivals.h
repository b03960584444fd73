// When requests arrive: absolute times, all known before the first is sent, so that a slow server
// does not thin the load. As `vllm bench serve` makes them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/result.h"
#include "serving/workload/prompt.h"

namespace assay {

/// The rate grows or falls from the first request to the last, by their number.
struct RateRamp {
  bool exponential = false;    ///< equal factors, else equal steps
  double first = 0, last = 0;  ///< requests per second
};

struct ArrivalSettings {
  double rate = std::numeric_limits<double>::infinity();  ///< per second; infinite: all at 0
  /// Gaps are gamma distributed with this shape, so that their CV^2 is 1 over it: 1 is a Poisson
  /// process, below 1 there are bursts, infinite means equal gaps.
  double burstiness = 1;
  std::optional<RateRamp> ramp;  ///< instead of `rate`
};

/// Seconds after the beginning at which each of `n` requests arrives, not decreasing; the first one
/// waits for its gap too. Without a ramp they are scaled so that the last comes at n / rate, as
/// vLLM does: every seed offers exactly the rate. Error: usage, if a rate or the burstiness is not
/// above 0, or a ramp's rate or the burstiness is out of bounds.
Result<std::vector<double>> arrivals(std::size_t n, const ArrivalSettings& settings,
                                     std::uint64_t seed);

/// The same as they were recorded, `speed` times as fast, from the first one's on. Error: usage, if
/// speed is not above 0, the data do not say when, or go back in time.
Result<std::vector<double>> recorded_arrivals(const Prompts& prompts, double speed);

}  // namespace assay
