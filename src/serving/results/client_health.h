// Whether the load generator itself was the limit.
#pragma once

namespace assay {

struct ClientHealth {
  double loop_lag_p99 = 0;  ///< seconds by which the event loop's timers came late
  double loop_lag_max = 0;
  double cpu_share = 0;    ///< of its threads' time, the share that they computed; at most 1
  double cpu_seconds = 0;  ///< user and system, of the process
};

}  // namespace assay
