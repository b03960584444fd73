#include "serving/simulator/server_metrics.h"

#include <fmt/format.h>

namespace assay::simulator {
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

class Page {
 public:
  explicit Page(std::string_view model)
      : labels_(fmt::format("engine=\"0\",model_name=\"{}\"", model)) {}

  void gauge(std::string_view name, std::string_view help, double value) {
    sample("gauge", name, help, value);
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    sample("counter", name, help, static_cast<double>(value));
  }
  void histogram(std::string_view name, std::string_view help, const Histogram& histogram) {
    histogram.append(name, help, labels_, text);
  }
  void head(std::string_view type, std::string_view name, std::string_view help) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }
  void labelled(std::string_view name, std::string_view label, std::string_view of, double value) {
    text += fmt::format("{}{{{},{}=\"{}\"}} {}\n", name, labels_, label, of, value);
  }

  std::string text;

 private:
  void sample(std::string_view type, std::string_view name, std::string_view help, double value) {
    head(type, name, help);
    text += fmt::format("{}{{{}}} {}\n", name, labels_, value);
  }

  std::string labels_;
};

}  // namespace

ServerMetrics::ServerMetrics()
    : ttft(ttft_bounds),
      itl(itl_bounds),
      e2e(request_bounds),
      queue(request_bounds),
      prefill(request_bounds) {}

std::string metrics_page(const ServerMetrics& metrics, std::string_view model) {
  Page page(model);
  page.gauge("vllm:num_requests_running", "Requests in the batch.",
             static_cast<double>(metrics.running));
  page.gauge("vllm:num_requests_waiting", "Requests in the queue.",
             static_cast<double>(metrics.waiting));
  page.gauge("vllm:kv_cache_usage_perc", "Share of the cache in use, 1 is all of it.",
             metrics.cache_usage);
  page.counter("vllm:num_preemptions_total", "Times a request lost its cache.",
               metrics.engine.preemptions);
  page.counter("vllm:prompt_tokens_total", "Prompt tokens processed.",
               metrics.engine.prompt_tokens);
  page.counter("vllm:generation_tokens_total", "Tokens generated.",
               metrics.engine.generation_tokens);
  page.counter("vllm:prefix_cache_queries_total", "Prompt tokens looked up.",
               metrics.engine.prefix_queries);
  page.counter("vllm:prefix_cache_hits_total", "Prompt tokens found.", metrics.engine.prefix_hits);
  page.head("counter", "vllm:request_success_total", "Requests that ended.");
  page.labelled("vllm:request_success_total", "finished_reason", "length",
                static_cast<double>(metrics.finished_length));
  page.labelled("vllm:request_success_total", "finished_reason", "stop",
                static_cast<double>(metrics.finished_stop));
  page.histogram("vllm:time_to_first_token_seconds", "From the request to its first token.",
                 metrics.ttft);
  page.histogram("vllm:inter_token_latency_seconds", "Between tokens.", metrics.itl);
  page.histogram("vllm:e2e_request_latency_seconds", "From the request to its end.", metrics.e2e);
  page.histogram("vllm:request_queue_time_seconds", "Spent waiting.", metrics.queue);
  page.histogram("vllm:request_prefill_time_seconds", "From leaving the queue to the first token.",
                 metrics.prefill);
  constexpr std::string_view lag = "assay_sim_write_lag_seconds";
  page.head("summary", lag, "Delay between due and write of tokens: the simulator's error.");
  page.labelled(lag, "quantile", "0.5", metrics.write_lag.quantile(0.5));
  page.labelled(lag, "quantile", "0.99", metrics.write_lag.quantile(0.99));
  page.labelled(lag, "quantile", "1", metrics.write_lag.largest());
  constexpr std::string_view faults = "assay_sim_faults_total";
  page.head("counter", faults, "Requests that were given a fault.");
  for (std::size_t fault = 1; fault < fault_count; ++fault) {
    page.labelled(faults, "fault", name_of(static_cast<Fault>(fault)),
                  static_cast<double>(metrics.faults[fault]));
  }
  return std::move(page.text);
}

}  // namespace assay::simulator
