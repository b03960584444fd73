// guidellm's benchmarks.json: one benchmark per strategy and rate, with the metrics of successful
// requests and the counts of all requests.
#include <fmt/format.h>

#include <cmath>

#include "results/import/json_documents.h"
#include "results/import/serving.h"
#include "results/import/text_lines.h"

namespace assay::guidellm_importer {
namespace {

struct Distribution {
  std::string_view key;
  std::string_view name;
  double factor;
  std::string_view unit;
  Better better;
};
constexpr Distribution distributions[] = {
    {"output_tokens_per_second", "output_throughput", 1, "tokens/s", Better::higher},
    {"requests_per_second", "request_throughput", 1, "1/s", Better::higher},
    {"tokens_per_second", "total_token_throughput", 1, "tokens/s", Better::higher},
    {"request_concurrency", "concurrency", 1, "1", Better::neither},
    {"time_to_first_token_ms", "ttft", 1e-3, "s", Better::lower},
    {"inter_token_latency_ms", "itl", 1e-3, "s", Better::lower},
    {"time_per_output_token_ms", "tpot", 1e-3, "s", Better::lower},
    {"request_latency", "e2el", 1, "s", Better::lower},
    {"prompt_token_count", "prompt_tokens", 1, "1", Better::neither},
    {"output_token_count", "output_tokens", 1, "1", Better::neither},
};

const JsonNode* find_path(const JsonNode& node, std::initializer_list<std::string_view> path) {
  const JsonNode* at = &node;
  for (const std::string_view key : path) {
    if (at != nullptr) at = at->find(key);
  }
  return at;
}

/// Rates have only a mean; latencies also have quantiles.
void add_distribution(Record& record, const JsonNode& metrics, const Distribution& kind) {
  const JsonNode* values = find_path(metrics, {kind.key, "successful"});
  if (values == nullptr || values->number_at("count").value_or(1) == 0) return;
  if (kind.unit != "s") {
    add_metric(record, *values, "mean", kind.name, kind.factor, kind.unit, kind.better);
    return;
  }
  const auto add = [&](const JsonNode& from, std::string_view key, std::string_view statistic) {
    add_metric(record, from, key, fmt::format("{}_{}", statistic, kind.name), kind.factor,
               kind.unit, kind.better);
  };
  add(*values, "mean", "mean");
  add(*values, "median", "median");
  add(*values, "std_dev", "std");
  if (const JsonNode* percentiles = values->find("percentiles")) {
    for (const char* key : {"p90", "p95", "p99"}) add(*percentiles, key, key);
  }
}

class Guidellm final : public Importer {
 public:
  std::string_view name() const override { return "guidellm"; }
  std::string_view summary() const override { return "guidellm's benchmarks.json"; }
  int recognises(const ImportText& input) const override {
    return looks_like_json(input.text) && contains(input.text, "\"benchmarks\"") &&
                   contains(input.text, "\"time_to_first_token_ms\"")
               ? 95
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "guidellm");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      const JsonNode* benchmarks = document.node.find("benchmarks");
      if (benchmarks == nullptr || !benchmarks->is_array()) {
        return draft.wrong(document.line, "benchmarks is missing or not an array");
      }
      draft.next_run();
      RunFacts& run = draft.run();
      if (const JsonNode* metadata = document.node.find("metadata")) {
        run.version = metadata->at("guidellm_version");
        run.note("platform", metadata->at("platform"));
      }
      for (const JsonNode& benchmark : benchmarks->items) add(draft, benchmark, document.line);
    }
    return draft.finish();
  }

 private:
  static void add(Draft& draft, const JsonNode& benchmark, std::size_t line) {
    const JsonNode* metrics = benchmark.find("metrics");
    if (metrics == nullptr) {
      draft.warn(line, "a benchmark without metrics, skipped");
      return;
    }
    // Before version 2 the configuration was named args.
    const JsonNode* strategy = find_path(benchmark, {"config", "strategy"});
    if (strategy == nullptr) strategy = find_path(benchmark, {"args", "strategy"});
    std::vector<std::pair<std::string, std::string>> axes;
    if (strategy != nullptr) {
      axes.emplace_back("strategy", strategy->at("type_"));
      axes.emplace_back("request_rate", rate_text(strategy->at("rate")));
      const std::string_view streams = strategy->at("streams").empty()
                                           ? strategy->at("max_concurrency")
                                           : strategy->at("streams");
      axes.emplace_back("max_concurrency", rate_text(streams));
    }
    Record& record = draft.add(Cell("serving", std::move(axes)), line);
    for (const Distribution& kind : distributions) add_distribution(record, *metrics, kind);
    if (const JsonNode* times = benchmark.find("scheduler_metrics")) {
      record.time = utc_time(times->number_at("start_time").value_or(0));
    }
    judge(record, benchmark, *metrics);
  }

  static void judge(Record& record, const JsonNode& benchmark, const JsonNode& metrics) {
    const JsonNode* totals = metrics.find("request_totals");
    if (totals == nullptr) totals = find_path(benchmark, {"scheduler_metrics", "requests_made"});
    if (totals == nullptr) totals = find_path(benchmark, {"run_stats", "requests_made"});
    if (totals == nullptr) return;
    add_metric(record, *totals, "successful", "completed", 1, "1", Better::neither);
    add_metric(record, *totals, "errored", "failed", 1, "1", Better::neither);
    add_metric(record, *totals, "incomplete", "incomplete", 1, "1", Better::neither);
    const double good = totals->number_at("successful").value_or(0);
    const double bad = totals->number_at("errored").value_or(0);
    const JsonNode* tokens = find_path(metrics, {"output_token_count", "successful"});
    const bool no_token = tokens != nullptr && tokens->number_at("total_sum") == 0.0;
    if (good == 0 || bad > good || no_token) {
      record.status = RecordStatus::failed;
      record.reason = no_token && good > 0
                          ? "no reply has a token"
                          : fmt::format("{:.0f} requests succeeded, {:.0f} failed", good, bad);
    }
  }
};

const Guidellm importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::guidellm_importer
