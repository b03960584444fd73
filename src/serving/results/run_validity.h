// Judges whether a run's numbers describe the server and not the client.
#pragma once

#include "serving/results/serving_result.h"

namespace assay {

/// Judges a result that is otherwise complete. A run is void if the client was the limit (its
/// threads computed more than 80% of their time), more requests failed than completed, more replies
/// than AnalysisSettings::most_spoilt are empty or short, or none has a token. Only what counts
/// from the sending, and in a closed loop throughput, is void if at least three requests, and more
/// than 1%, were sent late: by more than 1 ms and more than 5% of the median TTFT.
RunVerdict verdict_of(const ServingResult& result, const AnalysisSettings& settings);

}  // namespace assay
