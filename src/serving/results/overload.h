// Judges whether a server kept up with the offered load. If it did not, latencies depend on the
// length of the run, not on the speed of the server.
#pragma once

#include <vector>

#include "serving/results/in_flight.h"
#include "serving/results/serving_result.h"

namespace assay {

/// An open loop is saturated if less than 95% of the offered rate was achieved while requests
/// waited longer and longer or, over at least 30 s of the steady state, more and more were in
/// flight. It is also saturated, by guidellm's rule, if over at least 30 s both the requests in
/// flight and TTFT grow, each with a margin of error below twice its slope, and the median TTFT is
/// above 2.5 s. `logs` are in the order of sending.
Saturation saturation_of(const std::vector<RequestLog>& logs, const InFlight& in_flight,
                         const ServingResult& result, const AnalysisSettings& settings);

}  // namespace assay
