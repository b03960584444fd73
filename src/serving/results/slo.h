// Targets that a server is held to: service-level objectives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "serving/results/serving_result.h"

namespace assay {

/// Latencies are what users wait: from the scheduled time, so that a cap on concurrency hides none.
struct Slo {
  enum class Quantity { ttft, tpot, itl, e2el, attainment };

  std::string name;  ///< "p99_ttft", "mean_tpot", "attainment"
  Quantity quantity = Quantity::ttft;
  double percent = 0;  ///< of a percentile; 0: the mean
  /// Seconds that may be taken; of attainment the share of requests that may miss the limits of
  /// goodput.
  double limit = 0;
};

/// "p99_ttft:200ms,mean_tpot:50ms,attainment:95%". Error: usage, saying what is allowed.
Result<std::vector<Slo>> parse_slos(const std::string& text);

/// In the unit of `limit`; 0 if there is nothing to judge by. A percentile must be among those that
/// `result` was made with, and attainment needs its goodput.
double value_of(const Slo& slo, const ServingResult& result);

/// A value or a limit as results report it: of attainment the share that kept the limits.
double reported_value(const Slo& slo, double value);

/// A value or a limit for reading: "183.0 ms", "96.2%".
std::string slo_text(const Slo& slo, double value);

}  // namespace assay
