#include "serving/results/serving_record.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

constexpr std::string_view in_seconds = "s";

/// Which statistics `assay compare` judges. Forty judgements of one load would mostly repeat each
/// other, and each would need more pairs to be certain; the rest are only reported. What is void is
/// kept as evidence, and nothing is judged by it.
enum class Judged { none, p99, mean_and_p99, is_void };

Judged unless(bool is_void, Judged judged) {
  return is_void ? Judged::is_void : judged;
}

class Metrics {
 public:
  explicit Metrics(Record& record) : metrics_(record.metrics) {}

  void add(std::string name, double value, std::string_view unit, Better better,
           std::optional<Interval> interval = std::nullopt) {
    metrics_.push_back({std::move(name), value, std::string(unit), better, "", interval});
  }
  /// Marks the metrics from number `first` on as void.
  void make_void_from(std::size_t first) {
    for (std::size_t i = first; i < metrics_.size(); ++i) {
      metrics_[i].better = Better::neither;
      metrics_[i].is_void = true;
    }
  }
  std::size_t size() const { return metrics_.size(); }
  void count(std::string name, std::size_t value) {
    told(std::move(name), static_cast<double>(value), "1");
  }
  void told(std::string name, double value, std::string_view unit) {
    add(std::move(name), value, unit, Better::neither);
  }
  /// mean_NAME, median_NAME, std_NAME, p99_NAME; nothing if there are no values.
  void latency(const std::string& name, const Latency& latency, Judged judged = Judged::none) {
    if (latency.n == 0) return;
    const std::size_t before = metrics_.size();
    const auto better_if = [](bool is_judged) {
      return is_judged ? Better::lower : Better::neither;
    };
    add("mean_" + name, latency.mean, in_seconds, better_if(judged == Judged::mean_and_p99),
        latency.mean95);
    add("median_" + name, latency.median, in_seconds, Better::neither, latency.median95);
    told("std_" + name, latency.deviation, in_seconds);
    for (const Percentile& percentile : latency.percentiles) {
      if (percentile.percent == 50) continue;  // the median
      std::string key = fmt::format("p{}_{}", percentile.percent, name);
      std::replace(key.begin(), key.end(), '.', '_');
      add(std::move(key), percentile.value, in_seconds,
          better_if(percentile.percent == 99 && judged != Judged::none), percentile.interval95);
    }
    if (judged == Judged::is_void) make_void_from(before);
  }
  void tail(const std::string& name, const Tail& tail) {
    told(name + "_median", tail.median, in_seconds);
    told(name + "_p99", tail.p99, in_seconds);
    told(name + "_max", tail.maximum, in_seconds);
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

/// The metrics that vLLM also reports, in the order in which its results are imported.
void add_as_vllm(Metrics& metrics, const ServingResult& result) {
  const bool late = !result.verdict.late.empty();
  const Judged from_sending = unless(late, Judged::mean_and_p99);
  const bool no_tokens = !result.verdict.tokens_hold(), no_gaps = !result.verdict.gaps_hold();
  metrics.add("output_throughput", result.output_throughput, "tokens/s", Better::higher);
  if (no_tokens) metrics.make_void_from(0);
  metrics.told("request_throughput", result.request_throughput, "1/s");
  if (result.goodput) {
    metrics.add("request_goodput", *result.goodput, "1/s", Better::higher);
    if (late || (no_gaps && result.goodput_of_gaps)) metrics.make_void_from(metrics.size() - 1);
  }
  metrics.told("total_token_throughput", result.total_throughput, "tokens/s");
  if (no_tokens) metrics.make_void_from(metrics.size() - 1);
  if (late && !result.load.is_open_loop()) metrics.make_void_from(0);
  metrics.latency("ttft", result.ttft, from_sending);
  // For non-streamed replies the time between tokens is unknown; vLLM reports 0.
  if (result.itl.n > 0) metrics.latency("tpot", result.tpot, unless(no_gaps, Judged::mean_and_p99));
  metrics.latency("itl", result.itl, unless(no_gaps, Judged::p99));
  metrics.latency("e2el", result.e2el, from_sending);
  metrics.told("duration", result.duration, in_seconds);
  metrics.told("max_output_tokens_per_s", result.most_output_per_second, "tokens/s");
  metrics.count("max_concurrent_requests", result.most_concurrent);
  if (result.itl.n > 0) {
    const Tail& stall = result.longest_stall;
    metrics.told("median_longest_stall", stall.median, in_seconds);
    metrics.told("p99_longest_stall", stall.p99, in_seconds);
    metrics.told("longest_stall", stall.maximum, in_seconds);
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
  const bool no_gaps = !result.verdict.gaps_hold();
  if (result.itl_per_token) {
    metrics.latency("itl_per_token", *result.itl_per_token, unless(no_gaps, Judged::none));
  }
  metrics.latency("ttft_scheduled", result.ttft_scheduled);
  metrics.latency("e2el_scheduled", result.e2el_scheduled);
  metrics.tail("queue_time", result.queue_time);
  if (result.steady) {
    const bool late = !result.verdict.late.empty();
    const std::size_t before = metrics.size();
    metrics.told("steady_output_throughput", result.steady->output_throughput, "tokens/s");
    if (!result.verdict.tokens_hold()) metrics.make_void_from(before);
    metrics.told("steady_request_throughput", result.steady->request_throughput, "1/s");
    if (late && !result.load.is_open_loop()) metrics.make_void_from(before);
    metrics.latency("steady_ttft", result.steady->ttft, unless(late, Judged::none));
    metrics.latency("steady_tpot", result.steady->tpot, unless(no_gaps, Judged::none));
  }
  if (result.saturation.achieved_share) {
    metrics.told("achieved_share", *result.saturation.achieved_share, "1");
  }
  if (result.targets.size() > 1) {
    metrics.told("target_imbalance", result.imbalance, "1");
  }
  if (result.little) {
    metrics.told("little_difference", result.little->difference, "1");
  }
  metrics.told("identity_error", result.identity_error, in_seconds);
  metrics.tail("send_lag", result.send_lag);
  metrics.told("loop_lag_p99", result.client.loop_lag_p99, in_seconds);
  metrics.told("loop_lag_max", result.client.loop_lag_max, in_seconds);
  metrics.told("client_cpu_share", result.client.cpu_share, "1");
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
  if (const auto reasons = result.verdict.reasons_in_part(); !reasons.empty()) {
    note(std::string(void_note), fmt::format("{}", fmt::join(reasons, "; ")));
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
  record.reason = fmt::format("{}", fmt::join(result.verdict.void_reasons(), "; "));
  Metrics metrics(record);
  add_as_vllm(metrics, result);
  add_beyond_vllm(metrics, result);
  add_notes(record, result);
  return record;
}

void add_server_metrics(Record& record, const ServerMetrics& server) {
  Metrics metrics(record);
  if (server.ttft && server.ttft->count > 0) {
    metrics.told("server_mean_ttft", server.ttft->mean(), in_seconds);
    if (const auto p99 = server.ttft->quantile(0.99)) {
      metrics.told("server_p99_ttft", *p99, in_seconds);
    }
  }
  // These are 0 where all is well, like those above.
  if (server.queue_time) {
    metrics.told("server_mean_queue_time", server.queue_time->mean(), in_seconds);
  }
  if (server.prefix_cache_hit_rate) {
    metrics.told("prefix_cache_hit_rate", *server.prefix_cache_hit_rate, "1");
  }
  if (server.preemptions) metrics.told("preemptions", *server.preemptions, "1");
  record.notes.emplace_back("server", server.server);
}

}  // namespace assay
