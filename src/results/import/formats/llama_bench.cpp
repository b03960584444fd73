// llama-bench: -o json, jsonl, csv, sql and md.
#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "results/import/csv.h"
#include "results/import/json_documents.h"
#include "results/import/text_lines.h"

namespace assay::llama_bench_importer {
namespace {

/// The parameters of a sweep, in the order in which a cell shows them.
constexpr std::array<std::string_view, 9> swept = {"n_batch",      "n_ubatch",   "n_threads",
                                                   "n_gpu_layers", "split_mode", "type_k",
                                                   "type_v",       "flash_attn", "n_depth"};

/// "pp512", "tg128", "pp512+tg128", as in its own tables.
std::string test_name(std::uint64_t prompt, std::uint64_t generated) {
  if (generated == 0) return fmt::format("pp{}", prompt);
  if (prompt == 0) return fmt::format("tg{}", generated);
  return fmt::format("pp{}+tg{}", prompt, generated);
}

/// `at(key)` returns the row's text for that key. False if a number is missing.
template <typename At>
bool add_row(Draft& draft, std::size_t line, const At& at) {
  const auto prompt = parse_count(at("n_prompt")), generated = parse_count(at("n_gen"));
  const auto rate = parse_number(at("avg_ts"));
  if (!prompt || !generated || !rate) return false;
  std::vector<std::pair<std::string, std::string>> axes = {
      {"model", std::string(at("model_type"))}, {"test", test_name(*prompt, *generated)}};
  for (const std::string_view key : swept) {
    if (!at(key).empty() && !(key == "n_depth" && at(key) == "0")) axes.emplace_back(key, at(key));
  }
  Record& record = draft.add(Cell("llama_bench", std::move(axes)), line);
  record.metrics = {metric("avg_ts", *rate, "tokens/s", Better::higher, at("avg_ts"))};
  if (const auto deviation = parse_number(at("stddev_ts"))) {
    record.metrics.push_back(
        metric("stddev_ts", *deviation, "tokens/s", Better::lower, at("stddev_ts")));
  }
  if (const auto time = parse_number(at("avg_ns"))) {
    record.metrics.push_back(metric("time", *time / 1e9, "s", Better::lower, at("avg_ns")));
  }
  record.time = at("test_time");  // "2025-03-01T12:00:00Z"
  record.device.name = at("gpu_info").empty() ? at("cpu_info") : at("gpu_info");
  record.source->version = at("build_commit");
  note(record, "build_commit", at("build_commit"));
  for (const char* key : {"model_filename", "backends", "cpu_info", "devices", "use_mmap"}) {
    note(record, key, at(key));
  }
  if (*rate <= 0) {
    record.status = RecordStatus::failed;
    record.reason = "its rate is not above zero";
  }
  return true;
}

class LlamaBenchJson final : public Importer {
 public:
  std::string_view name() const override { return "llama-bench"; }
  std::string_view summary() const override { return "llama-bench -o json or jsonl"; }
  int recognises(const ImportText& input) const override {
    return looks_like_json(input.text) && contains(input.text, "\"avg_ts\"") ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "llama-bench");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      const bool array = document.node.is_array();
      const JsonNode* begin = array ? document.node.items.data() : &document.node;
      const std::size_t count = array ? document.node.items.size() : 1;
      for (std::size_t i = 0; i < count; ++i) {
        const auto at = [&](std::string_view key) { return begin[i].at(key); };
        if (!add_row(draft, document.line, at)) {
          return draft.wrong(document.line, "n_prompt, n_gen or avg_ts is missing");
        }
      }
    }
    return draft.finish();
  }
};

class LlamaBenchCsv final : public Importer {
 public:
  std::string_view name() const override { return "llama-bench-csv"; }
  std::string_view summary() const override { return "llama-bench -o csv"; }
  int recognises(const ImportText& input) const override {
    return !looks_like_json(input.text) && contains(input.text, "build_commit") &&
                   contains(input.text, "avg_ts") && !contains(input.text, "INSERT INTO")
               ? 95
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "llama-bench");
    CsvReader csv(input.text, ',');
    CsvTable table;
    CsvRow row;
    while (csv.next(row)) {
      if (row.fields.front() == "build_commit") {
        table = CsvTable(row.fields);
        continue;
      }
      if (table.size() == 0) continue;  // log lines before the table
      const bool fits = row.fields.size() == table.size();
      if (!fits ||
          !add_row(draft, row.line, [&](std::string_view key) { return table.at(row, key); })) {
        draft.warn(row.line, "not a row of the table, skipped");
      }
    }
    return draft.finish();
  }
};

class LlamaBenchSql final : public Importer {
 public:
  std::string_view name() const override { return "llama-bench-sql"; }
  std::string_view summary() const override { return "llama-bench -o sql"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "INSERT INTO") && contains(input.text, "avg_ts") ? 95 : 0;
  }
  /// INSERT INTO test (build_commit, ...) VALUES ('...', ...);
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "llama-bench");
    LineReader lines(input.text);
    TextLine line;
    while (lines.next(line)) {
      if (!trim(line.text).starts_with("INSERT INTO")) continue;
      const std::size_t names = line.text.find('('), end = line.text.find(')');
      const std::size_t values = line.text.find("VALUES", end == std::string_view::npos ? 0 : end);
      const std::size_t open = line.text.find('(', values), close = line.text.rfind(')');
      if (end == std::string_view::npos || values == std::string_view::npos ||
          open == std::string_view::npos || close == std::string_view::npos || close < open ||
          end < names) {
        draft.warn(line.number, "an INSERT without names or values, skipped");
        continue;
      }
      std::vector<std::string> columns;
      for (const std::string_view part :
           split_at(line.text.substr(names + 1, end - names - 1), ',')) {
        columns.emplace_back(part);
      }
      const CsvTable table(std::move(columns));
      CsvRow row;
      row.fields = sql_values(line.text.substr(open + 1, close - open - 1));
      const auto at = [&](std::string_view key) { return table.at(row, key); };
      if (row.fields.size() != table.size() || !add_row(draft, line.number, at)) {
        draft.warn(line.number, "it has more or fewer values than names, skipped");
      }
    }
    return draft.finish();
  }

 private:
  /// Splits at commas outside single quotes.
  static std::vector<std::string> sql_values(std::string_view text) {
    std::vector<std::string> values(1);
    bool quoted = false;
    for (const char letter : text) {
      if (letter == '\'') {
        quoted = !quoted;
      } else if (letter == ',' && !quoted) {
        values.emplace_back();
      } else {
        values.back() += letter;
      }
    }
    for (std::string& value : values) value = std::string(trim(value));
    return values;
  }
};

class LlamaBenchMarkdown final : public Importer {
 public:
  std::string_view name() const override { return "llama-bench-md"; }
  std::string_view summary() const override { return "llama-bench's table"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "| model") && contains(input.text, " t/s |") ? 90 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "llama-bench");
    LineReader lines(input.text);
    TextLine line;
    CsvTable table;
    while (lines.next(line)) {
      const std::string_view text = trim(line.text);
      if (text.starts_with("build:")) {
        draft.run().version = trim(text.substr(6));
      } else if (const auto device = text.find("Device 0:"); device != std::string_view::npos) {
        const std::string_view rest = text.substr(device + 9);
        draft.run().device = trim(rest.substr(0, rest.find(',')));
      }
      if (!text.starts_with('|')) continue;
      auto parts = split_at(text.substr(1), '|');
      if (text.ends_with('|')) parts.pop_back();
      CsvRow row;
      row.fields.assign(parts.begin(), parts.end());
      row.line = line.number;
      if (row.fields.empty() || row.fields.front().starts_with("-")) continue;
      if (row.fields.front() == "model") {
        table = CsvTable(row.fields);
      } else if (table.size() > 0) {
        add(draft, table, row);
      }
    }
    return draft.finish();
  }

 private:
  static void add(Draft& draft, const CsvTable& table, const CsvRow& row) {
    const std::string_view cell = table.at(row, "t/s");
    const auto words = split_words(cell, 3);  // "2368.80 ± 93.24"
    const auto rate = words.empty() ? std::nullopt : parse_number(words[0]);
    if (row.fields.size() != table.size() || !rate) {
      draft.warn(row.line, "not a row of the table, skipped");
      return;
    }
    std::vector<std::pair<std::string, std::string>> axes;
    for (const std::string& column : table.columns()) {
      if (column == "t/s" || column == "size" || column == "params" || column == "backend")
        continue;
      std::string value(table.at(row, column));
      if (column == "test") std::erase(value, ' ');
      axes.emplace_back(column, value);
    }
    Record& record = draft.add(Cell("llama_bench", std::move(axes)), row.line);
    record.metrics = {metric("avg_ts", *rate, "tokens/s", Better::higher, words[0])};
    const auto deviation = words.size() > 2 ? parse_number(words[2]) : std::nullopt;
    if (deviation) {
      record.metrics.push_back(
          metric("stddev_ts", *deviation, "tokens/s", Better::lower, words[2]));
    }
    for (const char* key : {"size", "params", "backend"}) note(record, key, table.at(row, key));
  }
};

const LlamaBenchJson json_importer;
const LlamaBenchCsv csv_importer;
const LlamaBenchSql sql_importer;
const LlamaBenchMarkdown markdown_importer;
const ImporterRegistry::Add registered_json{&json_importer};
const ImporterRegistry::Add registered_csv{&csv_importer};
const ImporterRegistry::Add registered_sql{&sql_importer};
const ImporterRegistry::Add registered_markdown{&markdown_importer};

}  // namespace
}  // namespace assay::llama_bench_importer
