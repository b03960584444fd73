// The tables of llama-batched-bench, and those of compare-llama-bench.py with the rates of two
// versions side by side.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/import/csv.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"

namespace assay::llama_tables_importer {
namespace {

/// The parts of "| a | b |" between bars; empty if the line has none, or only dashes.
CsvRow row_of(const TextLine& line) {
  CsvRow row;
  row.line = line.number;
  const std::string_view text = trim(line.text);
  if (!text.starts_with('|')) return row;
  auto parts = split_at(text.substr(1), '|');
  if (text.ends_with('|')) parts.pop_back();
  if (parts.empty() || parts.front().find_first_not_of("-: ") == std::string_view::npos) return row;
  row.fields.assign(parts.begin(), parts.end());
  return row;
}

class BatchedBench final : public Importer {
 public:
  std::string_view name() const override { return "llama-batched-bench"; }
  std::string_view summary() const override { return "llama-batched-bench's table"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "| S_PP t/s |") && contains(input.text, "| S_TG t/s |") ? 90 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "llama-batched-bench");
    LineReader lines(input.text);
    TextLine line;
    CsvTable table;
    while (!draft.is_full() && lines.next(line)) {
      settings(draft, line.text);
      const CsvRow row = row_of(line);
      if (row.fields.empty()) continue;
      if (row.fields.front() == "PP") {
        table = CsvTable(row.fields);
      } else if (table.size() > 0) {
        add(draft, table, row);
      }
    }
    return draft.finish();
  }

 private:
  /// "llama_batched_bench: n_kv_max = 262144, n_batch = 2048, ..."; "main: ..." in older versions.
  static void settings(Draft& draft, std::string_view line) {
    if (!contains(line, "n_kv_max") || !contains(line, "n_batch")) return;
    for (const std::string_view part : split_at(line.substr(line.find("n_kv_max")), ',')) {
      const auto words = split_words(part, 4);
      if (words.size() == 3 && words[1] == "=") draft.run().note(words[0], words[2]);
    }
  }

  static void add(Draft& draft, const CsvTable& table, const CsvRow& row) {
    if (row.fields.size() != table.size() || !parse_number(table.at(row, "S t/s"))) {
      draft.warn(row.line, "not a row of the table, skipped");
      return;
    }
    std::vector<std::pair<std::string, std::string>> axes;
    std::vector<Metric> metrics;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::string& column = table.columns()[i];
      const std::string& text = row.fields[i];
      const auto value = parse_number(text);
      if (column.ends_with(" t/s") && value) {
        metrics.push_back(metric(identifier(column.substr(0, column.size() - 4)) + "_rate", *value,
                                 "tokens/s", Better::higher, text));
      } else if (column.ends_with(" s") && value) {
        metrics.push_back(metric(identifier(column.substr(0, column.size() - 2)) + "_time", *value,
                                 "s", Better::neither, text));
      } else if (column != "N_KV") {  // the sum of the others
        axes.emplace_back(identifier(column), text);
      }
    }
    Record& record = draft.add(Cell("llama_batched_bench", std::move(axes)), row.line);
    record.metrics = std::move(metrics);
  }
};

class CompareBench final : public Importer {
 public:
  std::string_view name() const override { return "llama-bench-compare"; }
  std::string_view summary() const override { return "the table of compare-llama-bench.py"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, " t/s ") && contains(input.text, "| Test ") &&
                   contains(input.text, " Speedup |")
               ? 90
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "llama-bench");
    LineReader lines(input.text);
    TextLine line;
    CsvTable table;
    while (!draft.is_full() && lines.next(line)) {
      const CsvRow row = row_of(line);
      if (row.fields.empty()) continue;
      const bool titles =
          std::find(row.fields.begin(), row.fields.end(), "Speedup") != row.fields.end();
      if (titles) {
        table = CsvTable(row.fields);
      } else if (table.size() > 0) {
        add(draft, table, row);
      }
    }
    return draft.finish();
  }

 private:
  /// A record of each version: "t/s master", "t/s 56ac96f6d".
  static void add(Draft& draft, const CsvTable& table, const CsvRow& row) {
    if (row.fields.size() != table.size()) {
      draft.warn(row.line, "not a row of the table, skipped");
      return;
    }
    std::vector<std::pair<std::string, std::string>> axes;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::string& column = table.columns()[i];
      if (column != "Speedup" && !column.starts_with("t/s ")) {
        axes.emplace_back(identifier(column), row.fields[i]);
      }
    }
    for (std::size_t i = 0; i < table.size(); ++i) {
      const std::string& column = table.columns()[i];
      const auto rate = parse_number(row.fields[i]);
      if (!column.starts_with("t/s ") || !rate) continue;
      auto own = axes;
      own.emplace_back("version", trim(std::string_view(column).substr(4)));
      Record& record = draft.add(Cell("llama_bench", std::move(own)), row.line);
      record.metrics = {metric("avg_ts", *rate, "tokens/s", Better::higher, row.fields[i])};
    }
  }
};

const BatchedBench batched_importer;
const CompareBench compare_importer;
const ImporterRegistry::Add registered_batched{&batched_importer};
const ImporterRegistry::Add registered_compare{&compare_importer};

}  // namespace
}  // namespace assay::llama_tables_importer
