// The block "Serving Benchmark Result" that vLLM's and SGLang's serving benchmarks print, which is
// often all that is kept of a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "results/import/record_builder.h"
#include "results/import/serving.h"
#include "results/import/text_lines.h"

namespace assay::serving_block_importer {
namespace {

struct Line {
  std::string_view label;  ///< before the colon, in lower case
  std::string_view name;
  std::string_view unit;
  Better better;
};
/// The metrics' names are those of the results as JSON.
constexpr std::array<Line, 16> lines_of_block = {{
    {"output token throughput (tok/s)", "output_throughput", "tokens/s", Better::higher},
    {"request throughput (req/s)", "request_throughput", "1/s", Better::higher},
    {"request goodput (req/s)", "request_goodput", "1/s", Better::higher},
    {"total token throughput (tok/s)", "total_token_throughput", "tokens/s", Better::higher},
    {"input token throughput (tok/s)", "input_throughput", "tokens/s", Better::higher},
    {"benchmark duration (s)", "duration", "s", Better::lower},
    {"peak output token throughput (tok/s)", "max_output_tokens_per_s", "tokens/s",
     Better::neither},
    {"peak concurrent requests", "max_concurrent_requests", "1", Better::neither},
    {"concurrency", "concurrency", "1", Better::neither},
    {"accept length", "accept_length", "1", Better::neither},
    {"acceptance length", "spec_decode_acceptance_length", "1", Better::neither},
    {"successful requests", "completed", "1", Better::neither},
    {"failed requests", "failed", "1", Better::neither},
    {"total input tokens", "total_input_tokens", "1", Better::neither},
    {"total generated tokens", "total_output_tokens", "1", Better::neither},
    {"total generated tokens (retokenized)", "total_output_tokens_retokenized", "1",
     Better::neither},
}};

/// "p99_ttft" of "P99 TTFT (ms)", "mean_e2el" of "Mean E2E Latency (ms)"; empty if the label is
/// none of a latency.
std::string latency_name(std::string_view label) {
  constexpr std::string_view unit = " (ms)";
  if (!label.ends_with(unit)) return {};
  label.remove_suffix(unit.size());
  const std::size_t space = label.find(' ');
  if (space == label.npos) return {};
  const std::string_view statistic = label.substr(0, space), kind = trim(label.substr(space));
  const bool percentile =
      statistic.size() > 1 && statistic[0] == 'p' && parse_number(statistic.substr(1)).has_value();
  constexpr std::array<std::string_view, 5> statistics = {"mean", "median", "std", "min", "max"};
  if (!percentile &&
      std::find(statistics.begin(), statistics.end(), statistic) == statistics.end()) {
    return {};
  }
  for (const auto& [text, name] : {std::pair{"ttft", "ttft"},
                                   {"tpot", "tpot"},
                                   {"itl", "itl"},
                                   {"e2el", "e2el"},
                                   {"e2e latency", "e2el"}}) {
    if (kind == text) return fmt::format("{}_{}", identifier(statistic), name);
  }
  return {};
}

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "serving-block", "vllm bench serve"),
        lines_(input.text),
        ended_(input.text.ends_with('\n')) {}

  Result<Imported> read() {
    TextLine line;
    while (lines_.next(line)) {
      const std::string_view text = trim(line.text);
      if (text.starts_with("==") && contains(text, "Serving Benchmark Result")) {
        finish(true);
        begin_ = line.number;
      } else if (begin_ > 0 && text.starts_with("=====")) {
        finish(false);
      } else {
        value(text);
      }
    }
    finish(true);
    return draft_.finish();
  }

 private:
  /// "Mean TTFT (ms):                          127.10". Settings may come before the block.
  void value(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos) return;
    const std::string label = lower_case(trim(text.substr(0, colon)));
    const auto words = split_words(text.substr(colon + 1), 2);
    if (words.empty()) return;
    const std::string_view word = words.front();
    if (label == "traffic request rate" || label == "request rate configured (rps)") rate_ = word;
    if (label == "maximum request concurrency" || label == "max request concurrency") {
      // SGLang writes "not set", vLLM "None".
      concurrency_ = parse_number(word) ? word : "none";
    }
    if (begin_ == 0) return;
    if (label == "backend") backend_ = word;
    const auto number = parse_number(word);
    if (!number) return;
    for (const Line& known : lines_of_block) {
      if (known.label != label) continue;
      metrics_.push_back(metric(known.name, *number, known.unit, known.better, word));
    }
    if (const std::string name = latency_name(label); !name.empty()) {
      metrics_.push_back(metric(name, *number / 1e3, "s", Better::lower, word));
    }
  }

  std::optional<double> metric_named(std::string_view name) const {
    for (const Metric& one : metrics_) {
      if (one.name == name) return one.value;
    }
    return std::nullopt;
  }

  /// `cut`: the line that ends a block is missing.
  void finish(bool cut) {
    if (begin_ == 0) return;
    // The last number may be cut off, too.
    if (cut && !ended_ && !metrics_.empty()) metrics_.pop_back();
    if (cut) draft_.warn(begin_, "the block is truncated");
    const auto completed = metric_named("completed"), failed = metric_named("failed");
    draft_.next_run();
    draft_.run().note("backend", backend_);
    if (!backend_.empty()) draft_.run().tool = "sglang.bench_serving";
    // Only versions that count failures name every limit; what they do not name is no limit.
    const bool all_named = failed.has_value();
    std::vector<std::pair<std::string, std::string>> axes = {
        {"request_rate", rate_.empty() ? (all_named ? "inf" : "unknown") : rate_text(rate_)},
        {"max_concurrency",
         concurrency_.empty() ? (all_named ? "none" : "unknown") : rate_text(concurrency_)}};
    if (completed) {
      axes.emplace_back("num_prompts", fmt::format("{}", *completed + failed.value_or(0)));
    }
    Record& record = draft_.add(Cell("serving", std::move(axes)), begin_);
    record.metrics = std::move(metrics_);
    // The main result comes first, as in results as JSON.
    for (auto& one : record.metrics) {
      if (one.name == lines_of_block.front().name) std::swap(one, record.metrics.front());
    }
    judge(record, completed, failed);
    metrics_.clear();
    rate_ = concurrency_ = backend_ = {};
    begin_ = 0;
  }

  static void judge(Record& record, std::optional<double> completed, std::optional<double> failed) {
    const auto tokens =
        std::find_if(record.metrics.begin(), record.metrics.end(),
                     [](const auto& one) { return one.name == "total_output_tokens"; });
    if (failed && completed && *failed > *completed) {
      record.reason = fmt::format("{} of {} requests failed", *failed, *failed + *completed);
    } else if (completed && *completed == 0) {
      record.reason = "no request completed";
    } else if (tokens != record.metrics.end() && tokens->value == 0) {
      record.reason = "no reply has a token";
    }
    if (!record.reason.empty()) record.status = RecordStatus::failed;
  }

  Draft draft_;
  LineReader lines_;
  bool ended_;             // the text's last line has a line end
  std::size_t begin_ = 0;  // the block's first line; 0 outside of one
  std::vector<Metric> metrics_;
  std::string_view rate_, concurrency_, backend_;
};

class ServingBlock final : public Importer {
 public:
  std::string_view name() const override { return "serving-block"; }
  std::string_view summary() const override {
    return "the block that vLLM's and SGLang's serving benchmarks print";
  }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "= Serving Benchmark Result =") ? 85 : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const ServingBlock importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::serving_block_importer
