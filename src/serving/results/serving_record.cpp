#include "serving/results/serving_record.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

constexpr std::string_view in_seconds = "s";

class Metrics {
 public:
  explicit Metrics(Record& record) : metrics_(record.metrics) {}

  void add(std::string name, double value, std::string_view unit, Better better,
           std::optional<Interval> interval = std::nullopt) {
    metrics_.push_back({std::move(name), value, std::string(unit), better, "", interval});
  }
  void count(std::string name, std::size_t value) {
    add(std::move(name), static_cast<double>(value), "1", Better::neither);
  }
  /// mean_NAME, median_NAME, std_NAME, p99_NAME; nothing if there are no values.
  void latency(const std::string& name, const Latency& latency) {
    if (latency.n == 0) return;
    add("mean_" + name, latency.mean, in_seconds, Better::lower, latency.mean95);
    add("median_" + name, latency.median, in_seconds, Better::lower, latency.median95);
    add("std_" + name, latency.deviation, in_seconds, Better::lower);
    for (const Percentile& percentile : latency.percentiles) {
      if (percentile.percent == 50) continue;  // the median
      std::string key = fmt::format("p{}_{}", percentile.percent, name);
      std::replace(key.begin(), key.end(), '.', '_');
      add(std::move(key), percentile.value, in_seconds, Better::lower, percentile.interval95);
    }
  }
  /// Of what is 0 where all is well: no side of it is better by a ratio.
  void tail(const std::string& name, const Tail& tail) {
    add(name + "_median", tail.median, in_seconds, Better::neither);
    add(name + "_p99", tail.p99, in_seconds, Better::neither);
    add(name + "_max", tail.maximum, in_seconds, Better::neither);
  }

 private:
  std::vector<Metric>& metrics_;
};

Cell cell_of(const OfferedLoad& load, std::vector<std::pair<std::string, std::string>> more) {
  std::vector<std::pair<std::string, std::string>> axes;
  axes.emplace_back("request_rate", fmt::format("{}", load.request_rate));
  if (load.burstiness != 1) axes.emplace_back("burstiness", fmt::format("{}", load.burstiness));
  axes.emplace_back("max_concurrency",
                    load.max_concurrency ? fmt::format("{}", *load.max_concurrency) : "none");
  axes.emplace_back("num_prompts", fmt::format("{}", load.num_prompts));
  axes.insert(axes.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
  return {"serving", std::move(axes)};
}

/// What vLLM tells too, in the order in which its results are imported.
void add_as_vllm(Metrics& metrics, const ServingResult& result) {
  metrics.add("output_throughput", result.output_throughput, "tokens/s", Better::higher);
  metrics.add("request_throughput", result.request_throughput, "1/s", Better::higher);
  if (result.goodput) metrics.add("request_goodput", *result.goodput, "1/s", Better::higher);
  metrics.add("total_token_throughput", result.total_throughput, "tokens/s", Better::higher);
  metrics.latency("ttft", result.ttft);
  // Of replies that came whole nothing is known between their tokens, though vLLM calls it 0.
  if (result.itl.n > 0) metrics.latency("tpot", result.tpot);
  metrics.latency("itl", result.itl);
  metrics.latency("e2el", result.e2el);
  metrics.add("duration", result.duration, in_seconds, Better::lower);
  metrics.add("max_output_tokens_per_s", result.most_output_per_second, "tokens/s",
              Better::neither);
  metrics.count("max_concurrent_requests", result.most_concurrent);
  if (result.itl.n > 0) {
    const Tail& stall = result.longest_stall;
    metrics.add("median_longest_stall", stall.median, in_seconds, Better::lower);
    metrics.add("p99_longest_stall", stall.p99, in_seconds, Better::lower);
    metrics.add("longest_stall", stall.maximum, in_seconds, Better::lower);
  }
  const RequestCounts& counts = result.counts;
  metrics.count("completed", counts.completed);
  metrics.count("failed", counts.failed);
  metrics.count("empty_replies", counts.empty);
  metrics.count("total_input_tokens", counts.input_tokens);
  metrics.count("total_output_tokens", counts.output_tokens);
}

void add_beyond_vllm(Metrics& metrics, const ServingResult& result) {
  metrics.count("short_replies", result.counts.short_replies);
  if (result.itl_per_token) metrics.latency("itl_per_token", *result.itl_per_token);
  metrics.latency("ttft_scheduled", result.ttft_scheduled);
  metrics.latency("e2el_scheduled", result.e2el_scheduled);
  metrics.tail("queue_time", result.queue_time);
  if (result.steady) {
    metrics.add("steady_output_throughput", result.steady->output_throughput, "tokens/s",
                Better::higher);
    metrics.add("steady_request_throughput", result.steady->request_throughput, "1/s",
                Better::higher);
    metrics.latency("steady_ttft", result.steady->ttft);
    metrics.latency("steady_tpot", result.steady->tpot);
  }
  if (result.saturation.achieved_share) {
    metrics.add("achieved_share", *result.saturation.achieved_share, "1", Better::neither);
  }
  if (result.targets.size() > 1) {
    metrics.add("target_imbalance", result.imbalance, "1", Better::neither);
  }
  if (result.little) {
    metrics.add("little_difference", result.little->difference, "1", Better::neither);
  }
  metrics.add("identity_error", result.identity_error, in_seconds, Better::neither);
  metrics.tail("send_lag", result.send_lag);
  metrics.add("loop_lag_p99", result.client.loop_lag_p99, in_seconds, Better::neither);
  metrics.add("loop_lag_max", result.client.loop_lag_max, in_seconds, Better::neither);
  metrics.add("client_cpu_share", result.client.cpu_share, "1", Better::neither);
}

void add_notes(Record& record, const ServingResult& result) {
  const auto note = [&](std::string key, std::string text) {
    record.notes.emplace_back(std::move(key), std::move(text));
  };
  note("saturation", result.saturation.sentence);
  note("steady_state",
       result.steady ? fmt::format("from {:.3f} s to {:.3f} s, {} requests", result.steady->begin,
                                   result.steady->end, result.steady->requests)
                     : "none: " + result.no_steady);
  if (result.targets.size() > 1) {
    for (const TargetResult& target : result.targets) {
      note(fmt::format("target {}", target.target),
           fmt::format("{} requests, {} completed, mean TTFT {:.4g} s, mean E2EL {:.4g} s",
                       target.requests, target.completed, target.mean_ttft, target.mean_e2el));
    }
  }
  const std::vector<std::string>& warnings = result.verdict.warnings;
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    note(fmt::format("warning {}", i + 1), warnings[i]);
  }
}

}  // namespace

Record serving_record(const ServingResult& result,
                      const std::vector<std::pair<std::string, std::string>>& axes) {
  Record record;
  record.cell = cell_of(result.load, axes);
  record.source = Source{"assay load", "", "", 0};
  record.status = result.verdict.valid() ? RecordStatus::passed : RecordStatus::failed;
  record.reason = fmt::format("{}", fmt::join(result.verdict.void_reasons, "; "));
  Metrics metrics(record);
  add_as_vllm(metrics, result);
  add_beyond_vllm(metrics, result);
  add_notes(record, result);
  return record;
}

void add_server_metrics(Record& record, const ServerMetrics& server) {
  Metrics metrics(record);
  if (server.ttft && server.ttft->count > 0) {
    metrics.add("server_mean_ttft", server.ttft->mean(), in_seconds, Better::lower);
    if (const auto p99 = server.ttft->quantile(0.99)) {
      metrics.add("server_p99_ttft", *p99, in_seconds, Better::lower);
    }
  }
  // Of what is 0 where all is well, as above.
  if (server.queue_time) {
    metrics.add("server_mean_queue_time", server.queue_time->mean(), in_seconds, Better::neither);
  }
  if (server.prefix_cache_hit_rate) {
    metrics.add("prefix_cache_hit_rate", *server.prefix_cache_hit_rate, "1", Better::neither);
  }
  if (server.preemptions) metrics.add("preemptions", *server.preemptions, "1", Better::neither);
  const std::string warning = prefix_cache_warning(server);
  if (!warning.empty()) record.notes.emplace_back("prefix cache", warning);
}

}  // namespace assay
