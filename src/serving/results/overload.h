// Whether a server kept up with what was offered. If it did not, latencies tell how long the run
// was, not how fast the server is.
#pragma once

#include <vector>

#include "serving/results/in_flight.h"
#include "serving/results/serving_result.h"

namespace assay {

/// Of an open loop: saturated if less than 95% of the offered rate was achieved (in the steady
/// state if `result` has one), or, as guidellm has it, if over at least 30 s both the requests in
/// flight and TTFT grow, each with a margin of error below twice its slope, and half of TTFT is
/// above 2.5 s. `logs` in the order of sending.
Saturation saturation_of(const std::vector<RequestLog>& logs, const InFlight& in_flight,
                         const ServingResult& result, const AnalysisSettings& settings);

}  // namespace assay
