// How far the times that a client measured are from the true ones of the simulated server.
#pragma once

#include <optional>
#include <vector>

#include "serving/results/request_log.h"

namespace assay {

struct TimingError {
  double ttft_p99 = 0, itl_p99 = 0;  ///< seconds, of |measured - true|
};

/// Against what the server was told to keep, `ttft` and `itl` seconds, so that its own lateness
/// counts, too. Of the replies that succeeded; both 0 if there are none.
TimingError planned_error(const std::vector<RequestLog>& logs, double ttft, double itl);

/// Against when the server says it sent each token (RequestLog::delays). What is left where the
/// kernel stamps what comes: tokens read together, and what the server did between saying and
/// sending. Empty if it did not say so in every reply that succeeded.
std::optional<TimingError> client_error(const std::vector<RequestLog>& logs);

}  // namespace assay
