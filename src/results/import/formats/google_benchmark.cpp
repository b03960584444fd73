// Google Benchmark's --benchmark_format=json and csv.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "results/import/csv.h"
#include "results/import/json_documents.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::google_benchmark_importer {
namespace {

/// Members that are not user counters.
constexpr std::array<std::string_view, 18> known = {"name",
                                                    "family_index",
                                                    "per_family_instance_index",
                                                    "run_name",
                                                    "run_type",
                                                    "repetitions",
                                                    "repetition_index",
                                                    "threads",
                                                    "iterations",
                                                    "real_time",
                                                    "cpu_time",
                                                    "time_unit",
                                                    "aggregate_name",
                                                    "aggregate_unit",
                                                    "label",
                                                    "bytes_per_second",
                                                    "items_per_second",
                                                    "error_occurred"};

class GoogleBenchmark final : public Importer {
 public:
  std::string_view name() const override { return "google-benchmark"; }
  std::string_view summary() const override { return "Google Benchmark's JSON"; }
  int recognises(const ImportText& input) const override {
    return looks_like_json(input.text) && contains(input.text, "\"benchmarks\"") &&
                   contains(input.text, "\"time_unit\"") && contains(input.text, "\"real_time\"")
               ? 95
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "google-benchmark");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      const JsonNode* benchmarks = document.node.find("benchmarks");
      if (benchmarks == nullptr || !benchmarks->is_array()) {
        return draft.wrong(document.line, "benchmarks is missing or not an array");
      }
      draft.next_run();
      if (const JsonNode* context = document.node.find("context")) {
        RunFacts& run = draft.run();
        run.time = context->at("date");
        run.version = context->at("library_version");
        run.note("hosts", context->at("host_name"));
        for (const char* key : {"executable", "num_cpus", "mhz_per_cpu", "cpu_scaling_enabled",
                                "library_build_type"}) {
          run.note(key, context->at(key));
        }
      }
      for (const JsonNode& benchmark : benchmarks->items) add(draft, benchmark, document.line);
    }
    return draft.finish();
  }

 private:
  static void add(Draft& draft, const JsonNode& benchmark, std::size_t line) {
    const std::string_view run_name =
        benchmark.at("run_name").empty() ? benchmark.at("name") : benchmark.at("run_name");
    if (run_name.empty()) {
      draft.warn(line, "a benchmark without a name, skipped");
      return;
    }
    std::vector<std::pair<std::string, std::string>> axes = {{"name", std::string(run_name)}};
    const std::string_view aggregate = benchmark.at("aggregate_name");
    if (!aggregate.empty()) axes.emplace_back("aggregate", aggregate);
    // Each repetition is a separate result, so that none is mistaken for another.
    if (aggregate.empty() && benchmark.number_at("repetitions").value_or(1) > 1) {
      axes.emplace_back("repetition", benchmark.at("repetition_index"));
    }
    Record& record = draft.add(Cell("google_benchmark", std::move(axes)), line);
    add_metrics(record, benchmark);
    note(record, "iterations", benchmark.at("iterations"));
    note(record, "label", benchmark.at("label"));
    if (benchmark.at("error_occurred") == "true" || benchmark.at("skipped") == "true") {
      record.status = RecordStatus::error;
      record.reason = benchmark.at("error_message").empty() ? "the benchmark reports an error"
                                                            : benchmark.at("error_message");
    } else if (record.metrics.empty()) {
      record.status = RecordStatus::error;
      record.reason = "it reports no numbers";
    }
  }

  static void add_metrics(Record& record, const JsonNode& benchmark) {
    const bool share = benchmark.at("aggregate_unit") == "percentage";  // used by cv
    const auto unit = measured_unit(benchmark.at("time_unit"));
    for (const char* key : {"real_time", "cpu_time"}) {
      if (share) {
        add_metric(record, benchmark, key, key, 1, "1", Better::lower);
      } else if (unit) {
        add_metric(record, benchmark, key, key, unit->factor, unit->si, Better::lower);
      }
    }
    const auto rate = [&](const char* key, const char* of) {
      add_metric(record, benchmark, key, key, 1, share ? "1" : of,
                 share ? Better::lower : Better::higher);
    };
    rate("bytes_per_second", "bytes/s");
    rate("items_per_second", "1/s");
    for (std::size_t i = 0; i < benchmark.items.size(); ++i) {
      const std::string& key = benchmark.keys[i];
      const bool counter = std::find(known.begin(), known.end(), key) == known.end() &&
                           benchmark.items[i].kind == JsonNode::Kind::number;
      if (counter) {
        add_metric(record, benchmark.items[i], identifier(key), 1, "", Better::neither);
      }
    }
  }
};

/// Reads the CSV form, whose only context is what is printed above it.
class GoogleBenchmarkCsv final : public Importer {
 public:
  std::string_view name() const override { return "google-benchmark-csv"; }
  std::string_view summary() const override { return "Google Benchmark's CSV"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "name,iterations,real_time,cpu_time,time_unit") ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "google-benchmark");
    CsvReader csv(input.text, ',');
    CsvTable table;
    CsvRow row;
    while (!draft.is_full() && csv.next(row)) {
      if (row.fields.front() == "name") {
        if (draft.run_has_records()) draft.next_run();
        table = CsvTable(row.fields);
      } else if (table.size() == 0) {
        if (!iso_time(row.fields.front()).empty()) draft.run().time = row.fields.front();
      } else if (row.fields.size() != table.size()) {
        draft.warn(row.line, "not a row of the table, skipped");
      } else {
        add(draft, table, row);
      }
    }
    return draft.finish();
  }

 private:
  static void add(Draft& draft, const CsvTable& table, const CsvRow& row) {
    const auto at = [&](std::string_view column) { return table.at(row, column); };
    std::string_view run_name = at("name");
    std::vector<std::pair<std::string, std::string>> axes;
    bool share = false;
    for (const std::string_view aggregate : {"mean", "median", "stddev", "cv"}) {
      const std::string end = fmt::format("_{}", aggregate);
      if (!run_name.ends_with(end) || run_name.size() == end.size()) continue;
      run_name.remove_suffix(end.size());
      axes.emplace_back("aggregate", aggregate);
      share = aggregate == "cv";
      break;
    }
    axes.insert(axes.begin(), {"name", std::string(run_name)});
    Record& record = draft.add(Cell("google_benchmark", std::move(axes)), row.line);
    const auto unit = measured_unit(at("time_unit"));
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::string& column = table.columns()[i];
      const std::string& text = row.fields[i];
      const auto value = parse_number(text);
      if (!value || column == "name" || column == "iterations") continue;
      if (column == "real_time" || column == "cpu_time") {
        if (!share && !unit) continue;
        record.metrics.push_back(metric(column, share ? *value : to_si(*value, unit->factor),
                                        share ? "1" : unit->si, Better::lower, text));
      } else if (column == "bytes_per_second" || column == "items_per_second") {
        record.metrics.push_back(metric(column, *value,
                                        share              ? "1"
                                        : column[0] == 'b' ? "bytes/s"
                                                           : "1/s",
                                        share ? Better::lower : Better::higher, text));
      } else {
        record.metrics.push_back(metric(identifier(column), *value, "", Better::neither, text));
      }
    }
    note(record, "iterations", at("iterations"));
    note(record, "label", at("label"));
    if (at("error_occurred") == "true") {
      record.status = RecordStatus::error;
      record.reason =
          at("error_message").empty() ? "the benchmark reports an error" : at("error_message");
    }
  }
};

const GoogleBenchmark importer;
const GoogleBenchmarkCsv csv_importer;
const ImporterRegistry::Add registered{&importer};
const ImporterRegistry::Add registered_csv{&csv_importer};

}  // namespace
}  // namespace assay::google_benchmark_importer
