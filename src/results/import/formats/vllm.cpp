// vLLM's benchmarks: serving results of 2024 to 2026, also several in one file, and results of its
// offline throughput and latency benchmarks; also SGLang's serving results, which have a common
// origin.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "results/import/json_documents.h"
#include "results/import/record_builder.h"
#include "results/import/serving.h"
#include "results/import/text_lines.h"

namespace assay::vllm_importer {
namespace {

void add_rate(Record& record, const JsonNode& result, std::string_view key, std::string_view unit) {
  add_metric(record, result, key, key, 1, unit, Better::higher);
}

/// Adds what both programs report under the same names.
void add_serving(Draft& draft, const JsonNode& result, const Cell& cell, std::size_t line) {
  Record& record = draft.add(cell, line);
  add_rate(record, result, "output_throughput", "tokens/s");
  add_rate(record, result, "request_throughput", "1/s");
  add_rate(record, result, "request_goodput", "1/s");
  add_rate(record, result, "total_token_throughput", "tokens/s");
  add_rate(record, result, "input_throughput", "tokens/s");
  for (const char* key : {"ttft", "tpot", "itl", "e2el"}) add_latencies(record, result, key, key);
  add_latencies(record, result, "e2e_latency", "e2el");
  add_metric(record, result, "duration", "duration", 1, "s", Better::lower);
  add_metric(record, result, "max_output_tokens_per_s", "max_output_tokens_per_s", 1, "tokens/s",
             Better::neither);
  for (const char* key : {"max_concurrent_requests", "accept_length", "spec_decode_acceptance_rate",
                          "spec_decode_acceptance_length"}) {
    add_metric(record, result, key, key, 1, "1", Better::neither);
  }
  judge_serving(draft, record, result, line);
  record.device.emulated = result.at("label") == simulated_label;
}

using Axes = std::vector<std::pair<std::string, std::string>>;

void put_axis(Axes& axes, const JsonNode& result, std::string_view key) {
  const std::string_view text = result.at(key);
  if (!text.empty()) axes.emplace_back(key, rate_text(text));
}

/// Members before the measurements that every result has, or that tell runs apart.
constexpr std::array<std::string_view, 13> told = {"date",
                                                   "endpoint_type",
                                                   "backend",
                                                   "label",
                                                   "model_id",
                                                   "tokenizer_id",
                                                   "best_of",
                                                   "num_prompts",
                                                   "request_rate",
                                                   "burstiness",
                                                   "max_concurrency",
                                                   "run_number",
                                                   "ramp_up_strategy"};

/// What `vllm bench sweep` and --metadata add to a result: settings of the server, mostly.
constexpr std::array<std::string_view, 24> settings = {"max_num_seqs",
                                                       "max_num_batched_tokens",
                                                       "max_model_len",
                                                       "tensor_parallel_size",
                                                       "pipeline_parallel_size",
                                                       "data_parallel_size",
                                                       "decode_context_parallel_size",
                                                       "enable_expert_parallel",
                                                       "block_size",
                                                       "gpu_memory_utilization",
                                                       "dtype",
                                                       "quantization",
                                                       "kv_cache_dtype",
                                                       "enable_prefix_caching",
                                                       "enable_chunked_prefill",
                                                       "async_scheduling",
                                                       "enforce_eager",
                                                       "attention_backend",
                                                       "random_input_len",
                                                       "random_output_len",
                                                       "random_prefix_len",
                                                       "tp",
                                                       "pp",
                                                       "dp"};

bool is_in(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether a member begins the measurements: settings come before them.
bool begins_measurements(std::string_view key) {
  return key == "duration" || key == "completed" || key == "total_input_tokens";
}

/// The settings in which results of a file differ: those of a sweep may have any name.
std::set<std::string, std::less<>> swept_members(const std::vector<const JsonNode*>& results) {
  std::map<std::string, std::string, std::less<>> first;
  std::set<std::string, std::less<>> swept;
  for (const JsonNode* result : results) {
    for (std::size_t i = 0; i < result->keys.size(); ++i) {
      const std::string& key = result->keys[i];
      const JsonNode& value = result->items[i];
      if (begins_measurements(key)) break;
      if (is_in(told, key) || value.is_array() || value.is_object()) continue;
      const auto [found, fresh] = first.emplace(key, value.text);
      if (!fresh && found->second != value.text) swept.insert(key);
    }
  }
  return swept;
}

class VllmServing final : public Importer {
 public:
  std::string_view name() const override { return "vllm-serving"; }
  std::string_view summary() const override {
    return "results of vLLM's serving benchmark, 2024 to 2026";
  }
  int recognises(const ImportText& input) const override {
    if (!looks_like_json(input.text)) return 0;
    const bool serving =
        contains(input.text, "\"request_throughput\"") && contains(input.text, "\"mean_ttft_ms\"");
    return serving ? 80 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "vllm bench serve");
    const auto documents = TRY(parse_json_documents(input));
    // `vllm bench sweep` writes a summary of all results as one array.
    std::vector<const JsonNode*> results;
    std::vector<std::size_t> lines;
    for (const JsonDocument& document : documents) {
      const bool array = document.node.is_array();
      const JsonNode* begin = array ? document.node.items.data() : &document.node;
      for (std::size_t i = 0; i < (array ? document.node.items.size() : 1); ++i) {
        results.push_back(begin + i);
        lines.push_back(document.line);
      }
    }
    const auto swept = swept_members(results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      TRY(add(draft, *results[i], swept, lines[i]));
    }
    return draft.finish();
  }

 private:
  static Status add(Draft& draft, const JsonNode& result,
                    const std::set<std::string, std::less<>>& swept, std::size_t line) {
    if (!result.number_at("request_throughput") && !result.number_at("completed")) {
      return draft.wrong(line, "request_throughput and completed are missing");
    }
    draft.next_run();
    RunFacts& run = draft.run();
    run.time = compact_time(result.at("date"));
    for (const char* key : {"model_id", "tokenizer_id", "backend", "endpoint_type", "label",
                            "best_of", "ramp_up_strategy"}) {
      run.note(key, result.at(key));
    }
    Axes axes = {{"request_rate", rate_text(result.at("request_rate"))}};
    if (rate_text(result.at("burstiness")) != "1") put_axis(axes, result, "burstiness");
    axes.emplace_back("max_concurrency", rate_text(result.at("max_concurrency")));
    put_axis(axes, result, "num_prompts");
    for (std::size_t i = 0; i < result.keys.size() && axes.size() < most_axes; ++i) {
      const std::string& key = result.keys[i];
      const JsonNode& value = result.items[i];
      if (value.text.empty() || value.is_array() || value.is_object()) continue;
      if (is_in(settings, key) || swept.contains(key)) {
        axes.emplace_back(identifier(key), value.text);
      }
    }
    add_serving(draft, result, Cell("serving", std::move(axes)), line);
    return {};
  }

  static constexpr std::size_t most_axes = 24;
};

class SglangServing final : public Importer {
 public:
  std::string_view name() const override { return "sglang"; }
  std::string_view summary() const override {
    return "SGLang's bench_serving, one object per line";
  }
  int recognises(const ImportText& input) const override {
    const bool marked = contains(input.text, "\"total_output_tokens_retokenized\"") ||
                        contains(input.text, "\"mean_e2e_latency_ms\"");
    return looks_like_json(input.text) && marked ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "sglang.bench_serving");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      const JsonNode& result = document.node;
      if (!result.number_at("request_throughput") && !result.number_at("completed")) {
        return draft.wrong(document.line, "request_throughput and completed are missing");
      }
      draft.next_run();
      for (const char* key : {"backend", "model_id", "tag"}) draft.run().note(key, result.at(key));
      Axes axes;
      put_axis(axes, result, "dataset_name");
      axes.emplace_back("request_rate", rate_text(result.at("request_rate")));
      axes.emplace_back("max_concurrency", rate_text(result.at("max_concurrency")));
      for (const char* key : {"num_prompts", "random_input_len", "random_output_len",
                              "random_range_ratio", "sharegpt_output_len"}) {
        put_axis(axes, result, key);
      }
      add_serving(draft, result, Cell("serving", std::move(axes)), document.line);
    }
    return draft.finish();
  }
};

class VllmThroughput final : public Importer {
 public:
  std::string_view name() const override { return "vllm-throughput"; }
  std::string_view summary() const override { return "vLLM's offline throughput benchmark"; }
  int recognises(const ImportText& input) const override {
    return looks_like_json(input.text) && contains(input.text, "\"tokens_per_second\"") &&
                   contains(input.text, "\"elapsed_time\"")
               ? 90
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "vllm bench throughput");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      const JsonNode& result = document.node;
      const auto rate = result.number_at("tokens_per_second");
      if (!rate) return draft.wrong(document.line, "tokens_per_second is missing");
      draft.next_run();
      Axes axes;
      put_axis(axes, result, "num_requests");
      // The lengths are not reported; requests and tokens together distinguish different workloads.
      const std::string_view tokens = result.at("total_num_tokens");
      if (!tokens.empty()) axes.emplace_back("tokens", tokens);
      if (!result.at("input").empty()) axes.emplace_back("input", result.at("input"));
      const std::string_view output =
          result.at("output").empty() ? result.at("ouput") : result.at("output");
      if (!output.empty()) axes.emplace_back("output", output);
      Record& record = draft.add(Cell("vllm_throughput", std::move(axes)), document.line);
      add_rate(record, result, "tokens_per_second", "tokens/s");
      add_rate(record, result, "requests_per_second", "1/s");
      add_metric(record, result, "elapsed_time", "elapsed_time", 1, "s", Better::lower);
      if (*rate <= 0) {
        record.status = RecordStatus::failed;
        record.reason = "no token was generated";
      }
    }
    return draft.finish();
  }
};

class VllmLatency final : public Importer {
 public:
  std::string_view name() const override { return "vllm-latency"; }
  std::string_view summary() const override { return "vLLM's offline latency benchmark"; }
  int recognises(const ImportText& input) const override {
    return looks_like_json(input.text) && contains(input.text, "\"avg_latency\"") &&
                   contains(input.text, "\"percentiles\"")
               ? 90
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "vllm bench latency");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      const JsonNode& result = document.node;
      const auto average = result.number_at("avg_latency");
      if (!average) return draft.wrong(document.line, "avg_latency is missing");
      draft.next_run();
      Record& record = draft.add(Cell("vllm_latency", {}), document.line);
      add_metric(record, result, "avg_latency", "mean_latency", 1, "s", Better::lower);
      if (const JsonNode* percentiles = result.find("percentiles")) {
        for (std::size_t i = 0; i < percentiles->keys.size(); ++i) {
          add_metric(record, percentiles->items[i],
                     fmt::format("p{}_latency", identifier(percentiles->keys[i])), 1, "s",
                     Better::lower);
        }
      }
      check(draft, record, result, *average, document.line);
    }
    return draft.finish();
  }

 private:
  static void check(Draft& draft, Record& record, const JsonNode& result, double average,
                    std::size_t line) {
    const auto latencies = numbers_of(result.find("latencies"));
    if (!latencies || latencies->empty()) {
      draft.warn(line, "it has no individual latencies, so its mean cannot be checked");
      return;
    }
    double sum = 0;
    for (const double latency : *latencies) sum += latency;
    const double mean = sum / static_cast<double>(latencies->size());
    if (std::abs(mean - average) > 1e-6 * std::abs(mean)) {
      draft.warn(line, fmt::format("avg_latency is reported as {}, its latencies give {}",
                                   result.at("avg_latency"), mean));
    }
    note(record, "iterations", fmt::format("{}", latencies->size()));
  }
};

const VllmServing serving;
const SglangServing sglang;
const VllmThroughput throughput;
const VllmLatency latency;
const ImporterRegistry::Add registered_serving{&serving};
const ImporterRegistry::Add registered_sglang{&sglang};
const ImporterRegistry::Add registered_throughput{&throughput};
const ImporterRegistry::Add registered_latency{&latency};

}  // namespace
}  // namespace assay::vllm_importer
