// pytest-benchmark's --benchmark-json. Times are in seconds of one call.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.h"
#include "results/import/json_documents.h"
#include "results/import/text_lines.h"

namespace assay::pytest_benchmark_importer {
namespace {

class PytestBenchmark final : public Importer {
 public:
  std::string_view name() const override { return "pytest-benchmark"; }
  std::string_view summary() const override { return "pytest-benchmark's JSON"; }
  int recognises(const ImportText& input) const override {
    return looks_like_json(input.text) && contains(input.text, "\"benchmarks\"") &&
                   contains(input.text, "\"fullname\"") && contains(input.text, "\"rounds\"")
               ? 95
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), name());
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      const JsonNode* benchmarks = document.node.find("benchmarks");
      if (benchmarks == nullptr || !benchmarks->is_array()) {
        return draft.wrong(document.line, "benchmarks is missing or not an array");
      }
      draft.next_run();
      RunFacts& run = draft.run();
      run.version = document.node.at("version");
      run.time = document.node.at("datetime");  // UTC; versions before 5 do not say so
      if (!run.time.empty() && !contains(run.time, "+")) run.time += 'Z';
      if (const JsonNode* machine = document.node.find("machine_info")) {
        run.note("hosts", machine->at("node"));
        for (const char* key : {"python_implementation", "python_version", "release"}) {
          run.note(key, machine->at(key));
        }
      }
      if (const JsonNode* commit = document.node.find("commit_info")) {
        run.note("commit", commit->at("id"));
        run.note("dirty", commit->at("dirty"));
      }
      for (const JsonNode& benchmark : benchmarks->items) add(draft, benchmark, document.line);
    }
    return draft.finish();
  }

 private:
  /// The median is judged: garbage collection and the system disturb mean and maximum, and the
  /// minimum shrinks with the number of rounds.
  static void add(Draft& draft, const JsonNode& benchmark, std::size_t line) {
    const std::string_view full_name = benchmark.at("fullname");
    const JsonNode* stats = benchmark.find("stats");
    if (full_name.empty()) {
      draft.warn(line, "a benchmark without a fullname, skipped");
      return;
    }
    Record& record = draft.add(Cell("pytest_benchmark", {{"name", std::string(full_name)}}), line);
    if (stats != nullptr) {
      add_metric(record, *stats, "median", "median", 1, "s", Better::lower);
      for (const char* key : {"mean", "min", "max", "stddev"}) {
        add_metric(record, *stats, key, key, 1, "s", Better::neither);
      }
      note(record, "rounds", stats->at("rounds"));
      note(record, "iterations", stats->at("iterations"));
    }
    note(record, "group", benchmark.at("group"));
    if (record.metrics.empty()) {
      record.status = RecordStatus::error;
      record.reason = "it reports no times";
    }
  }
};

const PytestBenchmark importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::pytest_benchmark_importer
