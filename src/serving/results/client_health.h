// The client's health says whether the load generator was the bottleneck, and what it counted
// independently of the logs.
#pragma once

#include <optional>

namespace assay {

struct ClientHealth {
  double loop_lag_p99 = 0;  ///< seconds by which the event loop's timers came late
  double loop_lag_max = 0;
  double cpu_share = 0;    ///< share of the time that its event loop's thread spent computing
  double cpu_seconds = 0;  ///< user and system time of the process
  /// Time in flight summed over all requests, updated as each was sent and ended. Empty: not
  /// counted.
  std::optional<double> request_seconds;
};

}  // namespace assay
