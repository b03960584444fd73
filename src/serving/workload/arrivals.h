// Computes when requests arrive. All times are fixed before the first request is sent, so that a
// slow server does not reduce the load. They are generated as in `vllm bench serve`.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/result.h"
#include "serving/workload/prompt.h"

namespace assay {

/// A rate that rises or falls from the first request to the last, as a function of the request's
/// index.
struct RateRamp {
  bool exponential = false;    ///< the rate changes by equal factors, otherwise by equal steps
  double first = 0, last = 0;  ///< requests per second
};

struct ArrivalSettings {
  double rate = std::numeric_limits<double>::infinity();  ///< per second; infinite: all at 0
  /// Gaps are gamma distributed with this shape, so their CV^2 is 1/burstiness: 1 is a Poisson
  /// process, below 1 there are bursts, infinite means equal gaps.
  double burstiness = 1;
  std::optional<RateRamp> ramp;  ///< if set, it replaces `rate`
};

/// Returns when each of `n` requests arrives, in seconds after the start, non-decreasing; the first
/// one also waits for its gap. Without a ramp the times are scaled so that the last is n / rate, as
/// in vLLM, so that every seed offers exactly the rate. Error: usage, if a rate is not above 0, if
/// a ramp's rate is not finite, or if the burstiness is below 0.01.
Result<std::vector<double>> arrivals(std::size_t n, const ArrivalSettings& settings,
                                     std::uint64_t seed);

/// Returns when each conversation of `prompts` begins. The rates in `settings` count every turn, so
/// conversations begin at a rate that is divided by their mean number of turns; a later turn is
/// sent after the reply to the one before it. Error: as from arrivals().
Result<std::vector<double>> conversation_arrivals(const Prompts& prompts, ArrivalSettings settings,
                                                  std::uint64_t seed);

/// Returns the recorded arrival times in seconds after the first one, each divided by `speed`.
/// Error: usage, if `speed` is not above 0 and finite, or if the data have no times, times that
/// decrease, or times of more than 24,000 hours.
Result<std::vector<double>> recorded_arrivals(const Prompts& prompts, double speed);

}  // namespace assay
