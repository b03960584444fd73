// Says how far the times a client measured differ from the true times of the simulated server.
#pragma once

#include <optional>
#include <vector>

#include "serving/results/request_log.h"

namespace assay {

struct TimingError {
  double ttft_p99 = 0, itl_p99 = 0;  ///< seconds: 99th percentiles of |measured - true|
};

/// Error against the times the server was configured for, `ttft` and `itl` seconds, so it includes
/// the server's own lateness. Over the replies that succeeded; both 0 if there are none.
TimingError planned_error(const std::vector<RequestLog>& logs, double ttft, double itl);

/// Error against the send times the server reported (RequestLog::delays). With kernel timestamps,
/// what remains is tokens read together and the server's work between stamping and sending. Empty
/// if no reply succeeded, or one that did lacks those times.
std::optional<TimingError> client_error(const std::vector<RequestLog>& logs);

}  // namespace assay
