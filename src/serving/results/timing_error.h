// How far the times that a client measured are from those that a server kept exactly.
#pragma once

#include <vector>

#include "serving/results/request_log.h"

namespace assay {

struct TimingError {
  double ttft_p99 = 0, itl_p99 = 0;  ///< seconds, of |measured - nominal|
};

/// Of the replies that succeeded; both 0 if there are none. `ttft`, `itl`: nominal seconds.
TimingError timing_error(const std::vector<RequestLog>& logs, double ttft, double itl);

}  // namespace assay
