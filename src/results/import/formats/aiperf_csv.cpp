// profile_export_genai_perf.csv and profile_export_aiperf.csv: a table of distributions, a table of
// single values, and tables of telemetry, which are not read. Also the table that genai-perf
// prints.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/import/aiperf_names.h"
#include "results/import/csv.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"

namespace assay::aiperf_csv_importer {
namespace {

/// Returns "1,146.31" without the commas.
std::string plain_number(std::string_view text) {
  std::string plain(text);
  std::erase(plain, ',');
  return plain;
}

/// Splits "Time To First Token (ms)" into a name and the unit in parentheses.
struct Title {
  std::string name;
  MeasuredUnit unit;
};

Title title_of(std::string_view text) {
  const std::size_t open = text.rfind('(');
  std::string_view unit;
  if (open != text.npos && text.ends_with(')')) {
    unit = text.substr(open + 1, text.size() - open - 2);
    text = text.substr(0, open);
  }
  Title title{aiperf_name(identifier(text)), aiperf_unit(unit)};
  if (unit == "per sec") {
    title.unit =
        contains(title.name, "token") ? MeasuredUnit{"tokens/s", 1} : MeasuredUnit{"1/s", 1};
  }
  return title;
}

class Reader {
 public:
  Reader(const ImportText& input, std::string_view format, std::string_view tool)
      : input_(input), draft_(input, format, tool), csv_(input.text, ',') {}

  Result<Imported> read() {
    CsvRow row;
    while (csv_.next(row)) {
      const std::string& first = row.fields.front();
      const bool header = first == "Metric" && row.fields.size() > 1;
      if (header || first == "Endpoint") {
        // A second table of distributions belongs to another run.
        const bool distributions = header && row.fields[1] == "avg";
        if (distributions) finish();
        const bool read = distributions || (header && row.fields[1] == "Value");
        table_ = read ? CsvTable(row.fields) : CsvTable();
        if (distributions) line_ = row.line;
      } else if (table_.size() > 0) {
        add(row);
      }
    }
    finish();
    return draft_.finish();
  }

 private:
  void add(const CsvRow& row) {
    if (row.fields.size() != table_.size()) {
      draft_.warn(row.line, "not a row of the table, skipped");
      return;
    }
    const Title title = title_of(row.fields.front());
    const auto put = [&](std::string_view column, const std::string& name, Better better,
                         std::vector<Metric>& to) {
      const std::string_view text = table_.at(row, column);
      const auto value = parse_number(plain_number(text));
      if (!value) return;
      to.push_back(metric(name, to_si(*value, title.unit.factor), title.unit.si, better, text));
    };
    const bool rate = contains(title.name, "throughput") || contains(title.name, "goodput");
    const Better better = aiperf_better(title.name, title.unit);
    if (table_.has("Value")) {
      put("Value", title.name, better, rate ? rates_ : others_);
      return;
    }
    for (const auto& [key, statistic] : aiperf_statistics) {
      put(key, fmt::format("{}_{}", statistic, title.name), better, others_);
    }
  }

  void finish() {
    if (rates_.empty() && others_.empty()) return;
    draft_.next_run();
    if (contains(input_.name, "genai_perf")) draft_.run().tool = "genai-perf";
    std::vector<std::pair<std::string, std::string>> axes;
    // Only the folder's name tells the load: "...-concurrency10", "...-request_rate2.0".
    for (const char* axis : {"concurrency", "request_rate"}) {
      const std::size_t at = input_.name.rfind(axis);
      if (at == std::string_view::npos) continue;
      std::string_view value = input_.name.substr(at + std::string_view(axis).size());
      value = value.substr(0, value.find_first_not_of("0123456789."));
      if (const auto number = parse_number(value))
        axes.emplace_back(axis, fmt::format("{}", *number));
    }
    Record& record = draft_.add(Cell("serving", std::move(axes)), line_);
    record.metrics = std::move(rates_);
    record.metrics.insert(record.metrics.end(), others_.begin(), others_.end());
    rates_.clear();
    others_.clear();
    const auto value_of = [&](std::string_view name) {
      const auto found = std::find_if(record.metrics.begin(), record.metrics.end(),
                                      [&](const Metric& one) { return one.name == name; });
      return found == record.metrics.end() ? std::nullopt : std::optional(found->value);
    };
    const auto tokens = value_of("output_token_throughput");
    const auto good = value_of("request_count"), bad = value_of("error_request_count");
    if (tokens && *tokens == 0) {
      record.status = RecordStatus::failed;
      record.reason = "no reply has a token";
    } else if ((good && *good == 0) || bad.value_or(0) > good.value_or(0)) {
      record.status = RecordStatus::failed;
      record.reason = fmt::format("{:.0f} requests succeeded, {:.0f} failed", good.value_or(0),
                                  bad.value_or(0));
    }
  }

  ImportText input_;
  Draft draft_;
  CsvReader csv_;
  CsvTable table_;
  std::size_t line_ = 0;
  std::vector<Metric> rates_, others_;
};

class AiperfCsv final : public Importer {
 public:
  std::string_view name() const override { return "aiperf-csv"; }
  std::string_view summary() const override {
    return "profile_export_aiperf.csv and profile_export_genai_perf.csv";
  }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "Metric,avg,") && contains(input.text, "Request Latency (") ? 90
                                                                                            : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    return Reader(input, name(), "aiperf").read();
  }
};

/// The table that genai-perf prints, whose columns are between bars, and the lines below it, such
/// as "Output token throughput (per sec): 80.51": the same as in its CSV.
class GenaiPerf final : public Importer {
 public:
  std::string_view name() const override { return "genai-perf"; }
  std::string_view summary() const override { return "the table that genai-perf prints"; }
  int recognises(const ImportText& input) const override {
    const bool titled = contains(input.text, "Statistic \xe2\x94\x83");
    return titled && contains(input.text, "Request latency (") ? 90 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    const std::string csv = as_csv(input.text);
    return Reader({csv, input.name}, name(), "genai-perf").read();
  }

 private:
  /// The line with | for the box's light and heavy bars.
  static std::string with_bars(std::string_view line) {
    std::string plain;
    for (std::size_t at = 0; at < line.size();) {
      const std::string_view letter = line.substr(at, 3);
      const bool bar = letter == "\xe2\x94\x82" || letter == "\xe2\x94\x83";
      plain += bar ? '|' : line[at];
      at += bar ? 3 : 1;
    }
    return plain;
  }

  static std::string with_doubled_quotes(std::string_view field) {
    std::string text;
    for (const char letter : field) text.append(letter == '"' ? 2 : 1, letter);
    return text;
  }

  static std::string as_csv(std::string_view text) {
    std::string csv;
    bool values = false;
    LineReader lines(text);
    TextLine line;
    while (lines.next(line)) {
      const std::string barred = with_bars(line.text);
      auto fields = split_at(barred, '|');
      const std::size_t colon = line.text.rfind("(per sec):");
      if (fields.size() > 3) {
        fields.erase(fields.begin());
        fields.pop_back();
        if (fields.front() == "Statistic") fields.front() = "Metric";
        values = false;
      } else if (colon != line.text.npos) {
        if (!values) csv += "Metric,Value\n";
        values = true;
        fields = {trim(line.text.substr(0, colon + 9)), trim(line.text.substr(colon + 10))};
      } else {
        fields.clear();
      }
      for (std::size_t i = 0; i < fields.size(); ++i) {
        csv += fmt::format("{}\"{}\"", i > 0 ? "," : "", with_doubled_quotes(fields[i]));
      }
      csv += '\n';
    }
    return csv;
  }
};

const AiperfCsv importer;
const GenaiPerf console_importer;
const ImporterRegistry::Add registered{&importer};
const ImporterRegistry::Add registered_console{&console_importer};

}  // namespace
}  // namespace assay::aiperf_csv_importer
