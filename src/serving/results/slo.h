// Service-level objectives (SLOs) are targets that a server must meet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "serving/results/serving_result.h"

namespace assay {

/// TTFT and E2EL count from the scheduled time, as users experience them, so that a cap on
/// concurrency hides nothing.
struct Slo {
  /// `attainment`: the share of requests that meet all goodput limits (GoodputLimits).
  enum class Quantity { ttft, tpot, itl, e2el, attainment };

  std::string name;  ///< "p99_ttft", "mean_tpot", "attainment"
  Quantity quantity = Quantity::ttft;
  double percent = 0;  ///< 99 for p99; 0: the mean
  /// The most seconds allowed; for attainment, the share of requests that may miss the goodput
  /// limits.
  double limit = 0;
};

/// Parses "p99_ttft:200ms,mean_tpot:50ms,attainment:95%". Error: usage, saying what is allowed.
Result<std::vector<Slo>> parse_slos(const std::string& text);

/// Returns the measured value to compare with `limit`, in its unit; 0 if there is nothing to judge
/// by. A percentile must be among those computed for `result`, and attainment needs its goodput.
double value_of(const Slo& slo, const ServingResult& result);

/// A value or a limit as results report it: for attainment, the share that met the limits.
double reported_value(const Slo& slo, double value);

/// A value or a limit for reading: "183.0 ms", "96.2%".
std::string slo_text(const Slo& slo, double value);

}  // namespace assay
