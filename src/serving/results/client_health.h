// What the load generator says of itself: whether it was the limit, and what it counted apart from
// the logs.
#pragma once

#include <optional>

namespace assay {

struct ClientHealth {
  double loop_lag_p99 = 0;  ///< seconds by which the event loop's timers came late
  double loop_lag_max = 0;
  double cpu_share = 0;    ///< of its threads' time, the share that they computed; at most 1
  double cpu_seconds = 0;  ///< user and system, of the process
  /// Of all requests in flight, summed up as they went out and landed.
  std::optional<double> request_seconds;
};

}  // namespace assay
