// A load run as a record in the store, with the names used for imported vLLM results
// (import/formats/vllm.cpp), so that the two can be compared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/record/record.h"
#include "serving/results/server_metrics.h"
#include "serving/results/serving_result.h"

namespace assay {

/// The cell is "serving" with the axes request_rate, burstiness (if not 1), max_concurrency and
/// num_prompts, then `axes` (names and values): the dataset and its lengths. A void run is stored
/// as `failed`, with its metrics as evidence. The caller fills in run, time, device and
/// fingerprint.
Record serving_record(const ServingResult& result,
                      const std::vector<std::pair<std::string, std::string>>& axes);

/// Adds what the servers reported about themselves: server_mean_ttft, server_p99_ttft,
/// server_mean_queue_time, prefix_cache_hit_rate, preemptions, and a note that names the server's
/// program.
void add_server_metrics(Record& record, const ServerMetrics& metrics);

}  // namespace assay
