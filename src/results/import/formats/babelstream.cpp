// BabelStream's table and CSV, versions 3 to 5.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"
#include "core/units.h"
#include "results/import/csv.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::babelstream_importer {
namespace {

/// The settings that all rows of one run share.
struct Setting {
  std::string dtype = "f64";
  std::string size;  ///< size of one array, canonical; empty: unknown
  /// Axes that the user of the program adds.
  std::vector<std::pair<std::string, std::string>> added = {};
};

/// Excludes what a batch system prints below the table, whose columns can be numbers too.
bool is_function(std::string_view word) {
  constexpr std::array<std::string_view, 6> functions = {"Copy",  "Mul", "Add",
                                                         "Triad", "Dot", "Nstream"};
  return std::find(functions.begin(), functions.end(), word) != functions.end();
}

Cell cell_of(std::string_view function, const Setting& setting) {
  std::vector<std::pair<std::string, std::string>> axes = {{"op", lower_case(function)},
                                                           {"dtype", setting.dtype}};
  axes.insert(axes.end(), setting.added.begin(), setting.added.end());
  if (!setting.size.empty()) axes.emplace_back("size", setting.size);
  return Cell("memory", std::move(axes));
}

void add_metrics(Record& record, std::string_view rate, const MeasuredUnit& unit,
                 std::string_view least, std::string_view most, std::string_view average) {
  record.metrics = {
      metric("bandwidth", to_si(*parse_number(rate), unit.factor), unit.si, Better::higher, rate)};
  const auto time = [&](std::string_view name, std::string_view text) {
    if (const auto value = parse_number(text)) {
      record.metrics.push_back(metric(name, *value, "s", Better::lower, text));
    }
  };
  time("min_time", least);
  time("max_time", most);
  time("mean_time", average);
}

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "babelstream", "BabelStream"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (!draft_.is_full() && lines_.next(line)) {
      if (trim(line.text) == "BabelStream") {
        draft_.next_run();
        setting_ = {};
        unit_ = std::nullopt;
      } else if (line.text.starts_with("Function")) {
        header(line);
      } else {
        other(line);
      }
    }
    return draft_.finish();
  }

 private:
  void header(const TextLine& line) {
    const auto words = split_words(line.text, 4);
    unit_ = words.size() < 2 ? std::nullopt : measured_unit(words[1]);
    if (!unit_) draft_.warn(line.number, "a table without a known unit");
  }

  void other(const TextLine& line) {
    facts(line.text);
    const auto words = split_words(line.text, 8);
    if (!unit_ || words.empty() || !is_function(words[0])) return;
    if (words.size() < 5 || !parse_number(words[1]) || !parse_number(words[4])) {
      draft_.warn(line.number, "the row is truncated, skipped");
      return;
    }
    Record& record = draft_.add(cell_of(words[0], setting_), line.number);
    add_metrics(record, words[1], *unit_, words[2], words[3], words[4]);
  }

  void facts(std::string_view line) {
    RunFacts& run = draft_.run();
    if (line.starts_with("Version:")) run.version = after_label(line, "Version");
    if (line.starts_with("Implementation:")) {
      run.note("implementation", after_label(line, "Implementation"));
    }
    if (line.starts_with("Precision:") && contains(line, "float")) setting_.dtype = "f32";
    if (line.starts_with("Driver:")) run.note("driver", after_label(line, "Driver"));
    if (line.starts_with("Running ")) run.note("running", line.substr(8));
    // The size is rounded, so it is not exact, but it is the same in every run.
    if (line.starts_with("Array size:")) {
      run.note("array_size", after_label(line, "Array size"));
      setting_.size = exact_size(after_label(line, "Array size"));
    }
    const std::size_t device = line.find(" device ");
    if (line.starts_with("Using ") && device != std::string_view::npos) {
      run.device = line.substr(device + 8);
    }
  }

  /// "268.4 MB (=0.3 GB)" is usually a rounded power of two: returns the power that rounds to it,
  /// if any.
  static std::string exact_size(std::string_view text) {
    const auto words = split_words(text, 2);
    if (words.size() < 2) return {};
    const auto value = parse_number(words[0]);
    const auto unit = measured_unit(words[1]);
    if (!value || !unit || unit->si != "bytes") return {};
    const double bytes = to_si(*value, unit->factor);
    for (int shift = 10; shift < 50; ++shift) {
      const double power = std::ldexp(1.0, shift);
      if (std::abs(power - bytes) <= 0.05 * unit->factor + 1e-9 * power) {
        return format_size(std::uint64_t{1} << shift);
      }
    }
    return fmt::format("{}{}", words[0], words[1]);
  }

  Draft draft_;
  LineReader lines_;
  Setting setting_;
  std::optional<MeasuredUnit> unit_;
};

class BabelStream final : public Importer {
 public:
  std::string_view name() const override { return "babelstream"; }
  std::string_view summary() const override { return "BabelStream's table, versions 3 to 5"; }
  int recognises(const ImportText& input) const override {
    if (!contains(input.text, "Function") || !contains(input.text, "Min (sec)")) return 0;
    return contains(input.text, "BabelStream") ? 95 : 60;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

class BabelStreamCsv final : public Importer {
 public:
  std::string_view name() const override { return "babelstream-csv"; }
  std::string_view summary() const override { return "BabelStream's --csv, versions 3 to 5"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "function,num_times,n_elements,sizeof,max_") ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "BabelStream");
    CsvReader csv(input.text, ',');
    CsvTable table;
    CsvRow row;
    while (!draft.is_full() && csv.next(row)) {
      if (row.fields.front() == "function" || row.fields.front() == "phase") {
        if (row.fields.front() == "function" && draft.run_has_records()) draft.next_run();
        table = CsvTable(row.fields);
        warn_of_unknown(draft, table, row.line);
      } else if (table.has("function")) {
        TRY(add(draft, table, row));
      } else if (row.fields.front().starts_with("Version:")) {
        draft.run().version = after_label(row.fields.front(), "Version");
      }
    }
    return draft.finish();
  }

 private:
  /// Columns of BabelStream itself. A script that runs it often adds its own settings.
  static bool is_own(std::string_view column) {
    constexpr std::array<std::string_view, 7> own = {"function",   "num_times",   "n_elements",
                                                     "sizeof",     "min_runtime", "max_runtime",
                                                     "avg_runtime"};
    return std::find(own.begin(), own.end(), column) != own.end() ||
           (column.starts_with("max_") && column.ends_with("_per_sec"));
  }

  /// Whether a column counts runs of one setting.
  static bool counts_runs(std::string_view column) {
    constexpr std::array<std::string_view, 6> names = {"run",       "repeat", "repetition",
                                                       "iteration", "trial",  "rep"};
    const std::string lower = lower_case(column);
    return std::find(names.begin(), names.end(), lower) != names.end();
  }

  static void warn_of_unknown(Draft& draft, const CsvTable& table, std::size_t line) {
    std::string unknown;
    for (const std::string& column : table.columns()) {
      if (!table.has("function") || column.empty() || is_own(column) || counts_runs(column)) {
        continue;
      }
      unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", column);
    }
    if (unknown.empty()) return;
    draft.warn(line,
               fmt::format("rows that differ in what BabelStream does not print are taken for "
                           "different cells: {}",
                           unknown.substr(0, 200)));
  }

  static Status add(Draft& draft, const CsvTable& table, const CsvRow& row) {
    if (row.fields.size() != table.size()) {
      draft.warn(row.line, "not a row of the table, skipped");
      return {};
    }
    std::string rate_name;
    for (const std::string& column : table.columns()) {
      if (column.starts_with("max_") && column.ends_with("_per_sec")) rate_name = column;
    }
    // "max_mbytes_per_sec" in versions 3 and 4, "max_GiB_per_sec" in version 5
    std::string unit = rate_name.size() > 12 ? rate_name.substr(4, rate_name.size() - 12) : "";
    if (unit == "mbytes") unit = "MB";
    const auto scale = measured_unit(unit + "/s");
    if (!scale) return draft.wrong(row.line, fmt::format("unknown unit in column {}", rate_name));
    const auto elements = parse_count(table.at(row, "n_elements"));
    const auto bytes = parse_count(table.at(row, "sizeof"));
    if (!elements || !bytes || *bytes > 16 || *elements > (std::uint64_t{1} << 56) ||
        !parse_number(table.at(row, rate_name))) {
      return draft.wrong(row.line, "n_elements, sizeof or the bandwidth is not a number");
    }
    Setting setting{*bytes == 4 ? "f32" : "f64", format_size(*elements * *bytes), {}};
    for (std::size_t i = 0; i < table.size() && setting.added.size() < most_added; ++i) {
      const std::string& column = table.columns()[i];
      if (column.empty() || is_own(column) || counts_runs(column)) continue;
      setting.added.emplace_back(identifier(column), row.fields[i]);
    }
    Record& record = draft.add(cell_of(table.at(row, "function"), setting), row.line);
    add_metrics(record, table.at(row, rate_name), *scale, table.at(row, "min_runtime"),
                table.at(row, "max_runtime"), table.at(row, "avg_runtime"));
    note(record, "repetitions", table.at(row, "num_times"));
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (counts_runs(table.columns()[i])) note(record, "run", row.fields[i]);
    }
    return {};
  }

  static constexpr std::size_t most_added = 16;
};

const BabelStream importer;
const BabelStreamCsv csv_importer;
const ImporterRegistry::Add registered{&importer};
const ImporterRegistry::Add registered_csv{&csv_importer};

}  // namespace
}  // namespace assay::babelstream_importer
