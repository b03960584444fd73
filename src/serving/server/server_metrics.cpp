#include "serving/server/server_metrics.h"

#include <fmt/format.h>

#include <array>

namespace assay::server {
namespace {

// vLLM's buckets.
constexpr std::array ttft_bounds = {0.001, 0.005, 0.01, 0.02,  0.04,  0.06,  0.08, 0.1,
                                    0.25,  0.5,   0.75, 1.0,   2.5,   5.0,   7.5,  10.0,
                                    20.0,  40.0,  80.0, 160.0, 640.0, 2560.0};
constexpr std::array itl_bounds = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                                   0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
constexpr std::array request_bounds = {0.3,  0.5,   0.8,   1.0,   1.5,   2.0,    2.5,
                                       5.0,  10.0,  15.0,  20.0,  30.0,  40.0,   50.0,
                                       60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};

}  // namespace

ServerMetrics::ServerMetrics()
    : ttft(ttft_bounds),
      itl(itl_bounds),
      e2e(request_bounds),
      queue(request_bounds),
      prefill(request_bounds) {}

MetricsPage::MetricsPage(std::string_view model)
    : labels_(fmt::format("engine=\"0\",model_name=\"{}\"", model)) {}

void MetricsPage::head(std::string_view type, std::string_view name, std::string_view help) {
  text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void MetricsPage::labelled(std::string_view name, std::string_view label, std::string_view of,
                           double value) {
  std::string escaped;
  for (const char c : of) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  text_ += fmt::format("{}{{{},{}=\"{}\"}} {}\n", name, labels_, label, escaped, value);
}

void MetricsPage::sample(std::string_view type, std::string_view name, std::string_view help,
                         double value) {
  head(type, name, help);
  text_ += fmt::format("{}{{{}}} {}\n", name, labels_, value);
}

void MetricsPage::add(const ServerMetrics& metrics, std::string_view lag) {
  const SchedulerCounters& counters = metrics.scheduler;
  const auto number = [](auto count) { return static_cast<double>(count); };
  gauge("vllm:num_requests_running", "Requests in the batch.", number(metrics.running));
  gauge("vllm:num_requests_waiting", "Requests in the queue.", number(metrics.waiting));
  gauge("vllm:kv_cache_usage_perc", "Share of the cache in use, 1 is all of it.",
        metrics.blocks == 0 ? 0 : 1 - number(metrics.free_blocks) / number(metrics.blocks));
  gauge("assay_kv_cache_blocks", "Blocks of the cache, 16 tokens each.", number(metrics.blocks));
  gauge("assay_kv_cache_free_blocks", "Blocks that no request holds.", number(metrics.free_blocks));
  counter("vllm:num_preemptions_total", "Times a request lost its cache.",
          number(counters.preemptions));
  counter("vllm:prompt_tokens_total", "Prompt tokens processed.", number(counters.prompt_tokens));
  counter("vllm:generation_tokens_total", "Tokens generated.", number(counters.generation_tokens));
  counter("vllm:prefix_cache_queries_total", "Prompt tokens looked up.",
          number(counters.prefix_queries));
  counter("vllm:prefix_cache_hits_total", "Prompt tokens found.", number(counters.prefix_hits));
  head("counter", "vllm:request_success_total", "Requests that ended.");
  labelled("vllm:request_success_total", "finished_reason", "length",
           number(metrics.finished_length));
  labelled("vllm:request_success_total", "finished_reason", "stop", number(metrics.finished_stop));
  histogram("vllm:time_to_first_token_seconds", "From the request to its first token.",
            metrics.ttft);
  histogram("vllm:inter_token_latency_seconds", "Between tokens.", metrics.itl);
  histogram("vllm:e2e_request_latency_seconds", "From the request to its end.", metrics.e2e);
  histogram("vllm:request_queue_time_seconds", "Spent waiting.", metrics.queue);
  histogram("vllm:request_prefill_time_seconds", "From leaving the queue to the first token.",
            metrics.prefill);
  head("summary", lag, "Delay between due and write of tokens: the server's own error.");
  labelled(lag, "quantile", "0.5", metrics.write_lag.quantile(0.5));
  labelled(lag, "quantile", "0.99", metrics.write_lag.quantile(0.99));
  labelled(lag, "quantile", "1", metrics.write_lag.largest());
}

}  // namespace assay::server
