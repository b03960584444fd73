#include "serving/results/server_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

/// A server's names for its metrics, newest first; empty: it has no such metric.
struct Names {
  using Two = std::array<std::string_view, 2>;
  std::string_view server, prefix;
  Two cache_queries, cache_hits;  ///< counters of tokens
  std::string_view cache_rate;    ///< a gauge, where there are no such counters
  Two preemptions, generation_tokens;
  std::string_view ttft, queue_time, waiting;
};

constexpr std::array<Names, 4> servers = {{
    {"vLLM",
     "vllm:",
     {"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"},
     {"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"},
     "",
     {"vllm:num_preemptions_total", ""},
     {"vllm:generation_tokens_total", ""},
     "vllm:time_to_first_token_seconds",
     "vllm:request_queue_time_seconds",
     "vllm:num_requests_waiting"},
    {"SGLang",
     "sglang:",
     {"sglang:prompt_tokens_total", ""},
     {"sglang:cached_tokens_total", ""},
     "sglang:cache_hit_rate",
     {"sglang:num_retracted_requests_total", ""},
     {"sglang:generation_tokens_total", ""},
     "sglang:time_to_first_token_seconds",
     "sglang:queue_time_seconds",
     "sglang:num_queue_reqs"},
    {"llama.cpp",
     "llamacpp:",
     {"", ""},
     {"", ""},
     "",
     {"", ""},
     {"llamacpp:tokens_predicted_total", ""},
     "",
     "",
     "llamacpp:requests_deferred"},
    {"TGI",
     "tgi_",
     {"", ""},
     {"", ""},
     "",
     {"", ""},
     {"tgi_request_generated_tokens_sum", ""},
     "",
     "tgi_request_queue_duration",
     "tgi_queue_size"},
}};

/// How much a counter grew. A counter missing from `before` counts from 0.
std::optional<double> counted(const Scrape& before, const Scrape& after, std::string_view name) {
  const auto end = after.sum(name);
  if (!end) return std::nullopt;
  const double difference = *end - before.sum(name).value_or(0);
  return difference >= 0 ? std::optional(difference) : std::nullopt;
}

std::optional<double> counted(const Scrape& before, const Scrape& after, const Names::Two& names) {
  const auto newest = counted(before, after, names[0]);
  return newest ? newest : counted(before, after, names[1]);
}

std::optional<Histogram> histogram(const Scrape& before, const Scrape& after,
                                   std::string_view name) {
  auto end = after.histogram(name);
  const auto begin = before.histogram(name);
  if (!end || !begin) return end;
  end->count -= begin->count;
  end->sum -= begin->sum;
  for (auto& [bound, no_larger] : end->buckets) {
    const auto earlier = begin->buckets.find(bound);
    if (earlier != begin->buckets.end()) no_larger -= earlier->second;
  }
  return end->count >= 0 ? end : std::nullopt;
}

/// The mean over the servers and engines that have the gauge.
std::optional<double> mean_gauge(const Scrape& scrape, std::string_view name) {
  const auto sum = scrape.sum(name);
  if (!sum) return std::nullopt;
  const auto& samples = scrape.samples();
  const auto count = std::ranges::count_if(samples, [&](const PrometheusSample& sample) {
    return sample.name == name && std::isfinite(sample.value);
  });
  return *sum / static_cast<double>(count);
}

std::optional<double> hit_rate(const Scrape& before, const Scrape& after, const Names& names) {
  const auto queries = counted(before, after, names.cache_queries);
  const auto hits = counted(before, after, names.cache_hits);
  if (queries && hits && *queries > 0) return *hits / *queries;
  return mean_gauge(after, names.cache_rate);
}

}  // namespace

Result<ServerMetrics> server_metrics(const Scrape& before, const Scrape& after) {
  for (const Names& names : servers) {
    if (!after.has_prefix(names.prefix)) continue;
    ServerMetrics metrics;
    metrics.server = names.server;
    metrics.prefix_cache_hit_rate = hit_rate(before, after, names);
    metrics.preemptions = counted(before, after, names.preemptions);
    metrics.generation_tokens = counted(before, after, names.generation_tokens);
    metrics.ttft = histogram(before, after, names.ttft);
    metrics.queue_time = histogram(before, after, names.queue_time);
    metrics.waiting = after.sum(names.waiting);
    return metrics;
  }
  return Error{ErrorKind::unsupported,
               "these metrics are not those of vLLM, SGLang, llama.cpp or TGI"};
}

std::string prefix_cache_warning(const ServerMetrics& metrics) {
  constexpr double most = 0.01;
  if (metrics.prefix_cache_hit_rate.value_or(0) < most) return {};
  return fmt::format(
      "{:.3g}% of the prompts' tokens came from the server's prefix cache: reset it between runs, "
      "or use another seed",
      *metrics.prefix_cache_hit_rate * 100);
}

}  // namespace assay
