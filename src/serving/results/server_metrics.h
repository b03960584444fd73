// What a server says of itself over a run: the difference of two answers of /metrics.
#pragma once

#include <optional>
#include <string>

#include "serving/results/prometheus.h"

namespace assay {

/// What the server does not tell is empty; so is what fell in between, as after a restart.
struct ServerMetrics {
  std::string server;                           ///< "vLLM", "SGLang", "llama.cpp", "TGI"
  std::optional<double> prefix_cache_hit_rate;  ///< share of prompt tokens found in the cache
  std::optional<double> preemptions;            ///< requests put off for want of memory
  std::optional<double> generation_tokens;
  std::optional<Histogram> ttft;        ///< seconds, by the server's own clock
  std::optional<Histogram> queue_time;  ///< seconds before a request was worked on
  std::optional<double> waiting;        ///< requests in its queue at the end
};

/// Of several servers their answers one after the other. Error: unsupported, if `after` is of none
/// of these servers.
Result<ServerMetrics> server_metrics(const Scrape& before, const Scrape& after);

/// One sentence if at least 1% of the prompts' tokens came from the prefix cache, which makes a run
/// with prompts seen before look faster; empty otherwise.
std::string prefix_cache_warning(const ServerMetrics& metrics);

}  // namespace assay
