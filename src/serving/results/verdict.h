// Whether a run's numbers are those of the server.
#pragma once

#include "serving/results/serving_result.h"

namespace assay {

/// Of a result that is otherwise complete. Void: the client was the limit (send lag p99 above 1 ms
/// and above 5% of the median TTFT, or its threads computed more than 80% of their time), more
/// requests failed than completed, too many replies are empty or short, or none has a token.
LoadVerdict verdict_of(const ServingResult& result, const AnalysisSettings& settings);

}  // namespace assay
