// A run of load as a record of the store, with the names that imported results of vLLM have
// (import/formats/vllm.cpp), so that both compare.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "measure/store/record.h"
#include "serving/results/server_metrics.h"
#include "serving/results/serving_result.h"

namespace assay {

/// The cell is "serving" with the axes request_rate, burstiness (if not 1), max_concurrency and
/// num_prompts, then `axes`: the dataset and its lengths. A void run is `failed` and keeps its
/// metrics as evidence. The caller fills in run, time, device and fingerprint.
Record serving_record(const ServingResult& result,
                      const std::vector<std::pair<std::string, std::string>>& axes);

/// Adds what the servers said of themselves beside what their client saw: server_mean_ttft,
/// server_p99_ttft, server_mean_queue_time, prefix_cache_hit_rate, preemptions, and a note if the
/// prefix cache spoilt the run.
void add_server_metrics(Record& record, const ServerMetrics& metrics);

}  // namespace assay
