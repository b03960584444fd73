#include "judge/report/llama_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "core/json.h"
#include "core/version.h"
#include "model/transformer/named_shapes.h"

namespace assay::report {
namespace {

/// Returns 0 if the record has no such metric.
double metric_of(const Record& record, std::string_view name) {
  for (const Metric& one : record.metrics) {
    if (one.name == name) return one.value;
  }
  return 0;
}

/// Returns "llama3-8b BF16" or "llama3-8b FP8": the model and the type of its stored matrices.
std::string model_type(const Cell& cell) {
  std::string stored(cell.text("quantization"));
  if (stored.empty() || stored == "none") stored = cell.text("precision");
  for (char& letter : stored) letter = static_cast<char>(std::toupper(letter));
  return fmt::format("{} {}", cell.text("model"), stored);
}

/// llama-bench's figures of the tokens of a test.
struct Tokens {
  std::uint64_t prompt = 0, generated = 0, before = 0;

  std::uint64_t tested() const { return prompt + generated; }
};

Json row_of(const Record& record, Tokens tokens) {
  const Cell& cell = record.cell;
  const bool on_cpu = record.device.is_host_cpu();
  std::vector<double> nanoseconds, rates;  // times and rates of whole tests
  for (const Sample& sample : record.samples->samples) {
    const double seconds = sample.seconds * record.work->repetitions;
    nanoseconds.push_back(std::round(seconds * 1e9));
    rates.push_back(static_cast<double>(tokens.tested()) / seconds);
  }
  const auto whole = [](double x) { return static_cast<std::uint64_t>(std::llround(x)); };
  Json samples_ns = Json::array();
  for (const double x : nanoseconds) samples_ns.push_back(whole(x));
  const std::string weights(cell.text("weights"));
  const auto shape = parse_decoder_shape(cell.text("model"));
  const std::string precision(cell.text("precision"));
  return {{"build_commit", git_hash()},
          {"build_number", 0},
          {"cpu_info", on_cpu ? record.device.name : ""},
          {"gpu_info", on_cpu ? "" : record.device.name},
          {"backends", fmt::format("assay {}", record.device.backend)},
          {"model_filename", weights == "random" ? "" : weights},
          {"model_type", model_type(cell)},
          {"model_size", whole(metric_of(record, "weight_memory"))},
          {"model_n_params", shape.ok() ? whole(shape->parameters()) : 0},
          {"n_batch", tokens.prompt > 0 ? tokens.prompt : 1},
          {"n_ubatch", tokens.prompt > 0 ? tokens.prompt : 1},
          {"n_threads", on_cpu ? record.device.multiprocessors : 1},
          {"type_k", precision},
          {"type_v", precision},
          {"n_gpu_layers", on_cpu || !shape.ok() ? 0 : shape->layers + 1},
          {"split_mode", "none"},
          {"main_gpu", record.device.ordinal},
          {"no_kv_offload", false},
          {"flash_attn", true},
          {"use_mmap", false},
          {"embeddings", false},
          {"n_prompt", tokens.prompt},
          {"n_gen", tokens.generated},
          {"n_depth", tokens.before},
          {"test_time", record.time},
          {"avg_ns", whole(mean(nanoseconds))},
          {"stddev_ns", whole(sample_deviation(nanoseconds))},
          {"avg_ts", mean(rates)},
          {"stddev_ts", sample_deviation(rates)},
          {"samples_ns", samples_ns},
          {"samples_ts", rates}};
}

}  // namespace

Result<std::string> to_llama_bench(const ReportInput& input) {
  Json rows = Json::array();
  for (const Environment& environment : input.environments) {
    for (const Record& record : environment.records) {
      const Cell& cell = record.cell;
      const bool is_prefill = cell.benchmark() == "prefill";
      if (!is_prefill && cell.benchmark() != "decode") continue;
      if (record.status != RecordStatus::passed || !record.samples || !record.work ||
          cell.text("batch") != "1") {
        continue;
      }
      Tokens tokens;
      if (is_prefill) {
        tokens.prompt = cell.integer("prompt");
      } else {
        const bool says = !cell.text("generate").empty();  // records of older versions lack it
        tokens.generated = says ? cell.integer("generate") : 1;
        const std::uint64_t context = std::max(cell.integer("context"), tokens.generated);
        tokens.before = context - tokens.generated;
      }
      rows.push_back(row_of(record, tokens));
    }
  }
  if (rows.empty()) {
    return Error{ErrorKind::usage,
                 "there are no results of prefill or decode with batch=1 for llama-bench's form; "
                 "measure some: assay run inference"};
  }
  return rows.dump(2) + "\n";
}

}  // namespace assay::report
