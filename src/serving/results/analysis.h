// Turns the logs of requests into the result of the run.
#pragma once

#include <vector>

#include "serving/results/serving_result.h"

namespace assay {

/// Pure: the same logs and settings give the same result, whatever the logs' order.
ServingResult analyse(const std::vector<RequestLog>& logs, const AnalysisSettings& settings);

}  // namespace assay
