// The part of a run in which the load was what it was meant to be.
#pragma once

#include <string>
#include <vector>

#include "serving/results/in_flight.h"
#include "serving/results/serving_result.h"

namespace assay {

/// Open loop: from when the first request ends until the last one is sent. Closed loop: from when
/// 95% of the concurrency were first in flight until they last were. Empty if fewer than 10
/// requests were sent in that time and completed; `reason` then says so.
std::optional<SteadyState> steady_state_of(const std::vector<RequestLog>& logs,
                                           const InFlight& in_flight,
                                           const AnalysisSettings& settings, std::string& reason);

}  // namespace assay
