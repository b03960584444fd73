// The part of a run in which the load was as intended.
#pragma once

#include <string>
#include <vector>

#include "serving/results/in_flight.h"
#include "serving/results/serving_result.h"

namespace assay {

/// Open loop: from when the first request ends until the last one is sent. Closed loop: from the
/// first until the last moment with 95% of the concurrency in flight. Empty, with `reason`, if
/// there is no such time, or fewer than 10 requests were sent in it and completed.
std::optional<SteadyState> steady_state_of(const std::vector<RequestLog>& logs,
                                           const InFlight& in_flight,
                                           const AnalysisSettings& settings, std::string& reason);

}  // namespace assay
