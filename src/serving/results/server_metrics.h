// Computes what a server reports about a run, from its /metrics responses before and after.
#pragma once

#include <optional>
#include <string>

#include "serving/results/prometheus.h"

namespace assay {

/// What changed between the two. A value is empty if the server does not report it or if the
/// counter decreased, as after a restart. A counter that was not there before counts from 0.
struct ServerMetrics {
  std::string server;  ///< "vLLM", "SGLang", "llama.cpp", "TGI"
  /// Share of the prompts' tokens that were found in the cache. If the server has no such counters,
  /// or they did not grow, it is the mean of a gauge over the servers, and not of this run alone.
  std::optional<double> prefix_cache_hit_rate;
  std::optional<double> preemptions;        ///< requests preempted for lack of memory
  std::optional<double> generation_tokens;  ///< tokens that it generated
  std::optional<Histogram> ttft;            ///< seconds, by the server's own clock
  std::optional<Histogram> queue_time;      ///< seconds before work on a request began
  std::optional<double> waiting;            ///< requests in its queue at the end
};

/// For several servers, pass their responses concatenated. Error: unsupported, if `after` comes
/// from none of these servers.
Result<ServerMetrics> server_metrics(const Scrape& before, const Scrape& after);

/// One sentence if at least 1% of the prompts' tokens came from the prefix cache, which makes a run
/// with already seen prompts look faster; otherwise empty.
std::string prefix_cache_warning(const ServerMetrics& metrics);

}  // namespace assay
