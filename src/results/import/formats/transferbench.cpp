// TransferBench: test results with columns separated by | or box characters, matrices (a2a, p2p)
// and CSV, alone or inside the output of newer versions of rocm-bandwidth-test.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "core/units.h"
#include "results/import/csv.h"
#include "results/import/matrix.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/import/transferbench_groups.h"
#include "results/import/transferbench_presets.h"
#include "results/record/measured_unit.h"

namespace assay::transferbench_importer {
namespace {

using Axes = std::vector<std::pair<std::string, std::string>>;

/// Columns are separated by | or the corresponding box character; in CSV by commas.
std::vector<std::string> columns_of(std::string_view line) {
  constexpr std::string_view box = "\xe2\x94\x82";
  std::string plain;
  for (std::size_t at = 0; at < line.size();) {
    if (line.substr(at).starts_with(box)) {
      plain += '|';
      at += box.size();
    } else {
      plain += line[at++];
    }
  }
  const bool bars = contains(plain, "|");
  std::vector<std::string> columns;
  for (const std::string_view part : split_at(plain, bars ? '|' : ',')) {
    if (!part.empty()) columns.emplace_back(part);
  }
  return columns;
}

/// A number with its unit; `text` points into the column.
struct Quantity {
  std::string_view text;
  double value = 0;  ///< in SI units
};

/// "47.056 GB/s" at the start of the column, if `unit` is its unit in SI.
std::optional<Quantity> quantity(std::string_view column, std::string_view unit) {
  const auto words = split_words(column, 2);
  if (words.size() < 2) return std::nullopt;
  const auto value = parse_number(words[0]);
  const auto scale = measured_unit(words[1]);
  if (!value || !scale || scale->si != unit) return std::nullopt;
  const auto length = static_cast<std::size_t>(words[1].data() + words[1].size() - words[0].data());
  return Quantity{{words[0].data(), length}, to_si(*value, scale->factor)};
}

/// The first column that is a quantity in `unit`.
std::optional<Quantity> quantity_of(const std::vector<std::string>& columns,
                                    std::string_view unit) {
  for (const std::string& column : columns) {
    if (auto found = quantity(column, unit)) return found;
  }
  return std::nullopt;
}

/// "G000:008" means G0 and 8 sub-executors.
void put_executor(Axes& axes, std::string_view text) {
  const std::size_t colon = text.find(':');
  std::string name(text.substr(0, colon));
  const std::size_t digits = name.find_first_of("0123456789");
  while (digits != std::string::npos && digits + 1 < name.size() && name[digits] == '0' &&
         name[digits + 1] >= '0' && name[digits + 1] <= '9') {
    name.erase(digits, 1);
  }
  axes.emplace_back("exe", name);
  if (colon == std::string_view::npos) return;
  if (const auto units = parse_count(text.substr(colon + 1))) {
    axes.emplace_back("units", fmt::format("{}", *units));
  }
}

constexpr std::array<std::string_view, 10> settings = {
    "A2A_DIRECT",   "A2A_MODE",       "GFX_UNROLL",     "NUM_ITERATIONS",  "NUM_SUB_EXEC",
    "USE_DMA_EXEC", "USE_FINE_GRAIN", "USE_HIP_EVENTS", "USE_REMOTE_READ", "USE_SINGLE_STREAM"};

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "transferbench", "TransferBench"),
        presets_(draft_),
        groups_(draft_),
        lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (lines_.next(line)) {
      const std::string_view text = trim(line.text);
      if (text.starts_with("TransferBench v")) {
        finish_run();
        if (draft_.run_has_records()) draft_.next_run();
        const auto version = split_words(text.substr(15), 1);
        if (!version.empty()) draft_.run().version = version.front();
        matrix_ = {};
        presets_.reset();
        groups_.reset();
        test_ = 0;
      } else if (!csv(line) && !result(line) &&
                 !groups_.read(text, columns_of(line.text), size_, line.number) &&
                 !presets_.read(text, columns_of(line.text), size_, line.number) && !matrix(line)) {
        facts(line);
      }
    }
    finish_run();
    return draft_.finish();
  }

 private:
  Axes test_axes(std::string_view scope) const {
    return {{"scope", std::string(scope)}, {"test", fmt::format("{}", test_)}};
  }

  /// Reads the results of executors and transfers, and the aggregate of a test.
  bool result(const TextLine& line) {
    if (!contains(line.text, "B/s") || !contains(line.text, " ms")) return false;
    const auto columns = columns_of(line.text);
    if (columns.size() < 3) return false;
    const auto bandwidth = quantity_of(columns, "bytes/s");
    const auto time = quantity_of(columns, "s");
    const auto bytes = quantity_of(columns, "bytes");
    const auto first = split_words(columns[0], 6);
    const bool known = first[0] == "Transfer" || first[0] == "Executor:" || first[0] == "Aggregate";
    if (!known) return false;
    constexpr double most_bytes = 1e18;
    // "Transfer 01: G00 -> [GPU 00:004] -> G01 | 8.413 GB/s | 127.626 ms | LOCAL-PCIE-2" of version
    // 1.02 tells no size.
    const std::size_t colon = columns[0].find(": ");
    const bool old_transfer = first[0] == "Transfer" && colon != std::string::npos;
    const bool sizeless = old_transfer || columns[0].starts_with("Aggregate Bandwidth");
    if (!bandwidth || !time || (!bytes && !sizeless) ||
        (bytes && !(bytes->value >= 0 && bytes->value <= most_bytes))) {
      draft_.warn(line.number, "the row is truncated or has impossible numbers, skipped");
      return true;
    }
    Axes axes;
    if (first[0] == "Transfer") {
      std::string plain = old_transfer ? columns[0].substr(colon + 1) : columns.back();
      std::erase_if(plain, [](char letter) { return letter == '[' || letter == ']'; });
      if (const std::size_t gap = plain.find("PU "); old_transfer && gap != plain.npos) {
        plain.erase(gap + 2, 1);  // "GPU 00:004" is one name
      }
      const auto path = split_words(plain, 8);  // F0 -> G000:008 -> F1
      if (path.size() < 5 || path[1] != "->" || path[3] != "->") {
        draft_.warn(line.number, "a transfer without source and destination, skipped");
        return true;
      }
      axes = test_axes("transfer");
      axes.emplace_back("src", path[0]);
      put_executor(axes, path[2]);
      axes.emplace_back("dst", path[4]);
    } else if (first[0] == "Executor:") {
      axes = test_axes("executor");
      axes.emplace_back("exe", trim(std::string_view(columns[0]).substr(9)));
    } else {
      axes = test_axes("aggregate");
    }
    if (bytes) {
      axes.emplace_back("size", format_size(static_cast<std::uint64_t>(bytes->value)));
    }
    Record& record = draft_.add(Cell("peer", std::move(axes)), line.number);
    record.metrics = {
        metric("bandwidth", bandwidth->value, "bytes/s", Better::higher, bandwidth->text),
        metric("time", time->value, "s", Better::lower, time->text)};
    // A transfer's time starts when the transfer starts, so the sum hides transfers that waited.
    const std::string_view last = columns.back();
    if (const auto sum = quantity(last, "bytes/s"); sum && contains(last, "(sum)")) {
      record.metrics.push_back(
          metric("sum_bandwidth", sum->value, "bytes/s", Better::higher, sum->text));
    }
    // "Overhead: -0.010 ms"; without the colon since version 1.65
    std::string_view rest = last.substr(std::min(last.find("Overhead"), last.size()));
    rest.remove_prefix(std::min(rest.find_first_of(" :"), rest.size()));
    if (rest.starts_with(':')) rest.remove_prefix(1);
    if (const auto overhead = quantity(rest, "s")) {
      record.metrics.push_back(
          metric("overhead", overhead->value, "s", Better::lower, overhead->text));
    }
    return true;
  }

  /// Rows of its CSV until version 1.6x: numbers below a header of names.
  bool csv(const TextLine& line) {
    if (line.text.starts_with("Test#,")) {
      CsvReader reader(line.text, ',');
      CsvRow row;
      reader.next(row);
      table_ = CsvTable(row.fields);
      return true;
    }
    if (table_.size() == 0 || !contains(line.text, ",") || contains(line.text, "B/s")) return false;
    CsvReader reader(line.text, ',');
    CsvRow row;
    if (!reader.next(row) || !parse_count(row.fields.front())) return false;
    const std::string_view bandwidth = table_.at(row, "BW(GB/s)"),
                           time = table_.at(row, "Time(ms)");
    const auto rate = parse_number(bandwidth), milliseconds = parse_number(time);
    const auto bytes = parse_count(table_.at(row, "NumBytes"));
    if (!rate || !milliseconds || !bytes) {
      draft_.warn(line.number, "not a row of the table, skipped");
      return true;
    }
    const bool all = table_.at(row, "Transfer#") == "ALL";
    Axes axes = {{"scope", all ? "aggregate" : "transfer"}, {"test", row.fields.front()}};
    if (!all) {
      axes.emplace_back("src", table_.at(row, "Src"));
      put_executor(axes, table_.at(row, "Exe"));
      axes.emplace_back("dst", table_.at(row, "Dst"));
      axes.emplace_back("units", table_.at(row, "CUs"));
    }
    axes.emplace_back("size", format_size(*bytes));
    Record& record = draft_.add(Cell("peer", std::move(axes)), line.number);
    record.metrics = {metric("bandwidth", *rate * 1e9, "bytes/s", Better::higher, bandwidth),
                      metric("time", *milliseconds / 1e3, "s", Better::lower, time)};
    return true;
  }

  /// Reads a matrix of sources and destinations: a2a and p2p.
  bool matrix(const TextLine& line) {
    std::string plain;
    for (const std::string& column : columns_of(line.text)) plain += column + " ";
    auto words = split_words(plain);
    if (words.empty()) return false;
    if (contains(words[0], "\\DST") || contains(words[0], "\\EXE")) {
      matrix_ = matrix_header(words);
      // Of several ranks, the fastest and slowest are also told, with their numbers.
      std::erase(matrix_, "(rnk)");
      return true;
    }
    if (matrix_.empty()) return false;
    const auto average = std::find(words.begin(), words.end(), "AVG");
    if (average != words.end()) words.erase(average);
    if (words[0] == "RTotal") {
      totals(words, line.number);
      matrix_ = {};
      return true;
    }
    const auto row = matrix_row(words);
    if (!row) return false;
    for (std::size_t i = 0; i < row->values.size() && i < matrix_.size(); ++i) {
      if (!parse_number(row->values[i])) continue;  // N/A: a device with itself
      Axes axes = {{"scope", scope_}, {"src", row->name}, {"dst", matrix_[i]}};
      if (!row->arrow.empty()) {
        axes.emplace_back("direction", row->arrow == "->"   ? "to"
                                       : row->arrow == "<-" ? "from"
                                                            : "both");
      }
      add_rate(std::move(axes), row->values[i], line.number);
    }
    if (row->values.size() < matrix_.size()) draft_.warn(line.number, "the row is truncated");
    return true;
  }

  void totals(const std::vector<std::string_view>& words, std::size_t number) {
    for (std::size_t i = 1; i < words.size() && i <= matrix_.size(); ++i) {
      add_rate({{"scope", scope_}, {"src", "all"}, {"dst", matrix_[i - 1]}}, words[i], number);
    }
  }

  void add_rate(Axes axes, std::string_view text, std::size_t number) {
    add_transfer_rate(draft_, std::move(axes), size_, text, number);
  }

  void facts(const TextLine& line) {
    const std::string_view text = trim(line.text);
    if (text.starts_with("Test ") && text.ends_with(":")) {
      test_ = parse_count(trim(text.substr(5, text.size() - 6))).value_or(test_ + 1);
    }
    const auto words = split_words(text, 12);
    for (std::size_t i = 1; i < words.size(); ++i) {
      // "Copying N bytes", "Summary: [N bytes per Transfer]", "Bytes Per Direction N",
      // "Bytes to transfer: N", "(N bytes, local=no)"
      std::string_view number = words[i - 1];
      if (number.starts_with('[') || number.starts_with('(')) number.remove_prefix(1);
      const bool bytes = words[i] == "bytes" || words[i] == "bytes,";
      if (bytes && parse_count(number)) size_ = format_size(*parse_count(number));
      if ((words[i - 1] == "Direction" || words[i - 1] == "transfer:") && parse_count(words[i])) {
        size_ = format_size(*parse_count(words[i]));
      }
    }
    if (contains(text, "Unidirectional")) scope_ = "p2p";
    if (contains(text, "Bidirectional")) scope_ = "p2p_both_ways";
    if (contains(text, "All-To-All")) scope_ = "a2a";
    for (const std::string_view setting : settings) {
      if (!words.empty() && words[0] == setting && words.size() > 2 && words[1] == "=") {
        draft_.run().note(lower_case(setting), words[2]);
      }
    }
    for (const std::string_view timed : {"Average", "Aggregate"}) {
      const std::size_t colon = text.rfind(':');
      if (!text.starts_with(timed) || !contains(text, "Timed)") || colon == text.npos) {
        continue;
      }
      const auto rate = quantity(text.substr(colon + 1), "bytes/s");
      if (!rate) continue;
      Axes axes = {{"scope", timed == "Average" ? "average" : "aggregate"},
                   {"timing", contains(text, "CPU Timed") ? "cpu" : "gpu"}};
      if (!size_.empty()) axes.emplace_back("size", size_);
      Record& record = draft_.add(Cell("peer", std::move(axes)), line.number);
      record.metrics = {metric("bandwidth", rate->value, "bytes/s", Better::higher,
                               trim(text.substr(colon + 1)))};
    }
    if (contains(text, "[ERROR]")) {
      draft_.warn(line.number, text.substr(0, 200));
      if (contains(lower_case(text), "mismatch")) mismatch_ = text.substr(0, 200);
    }
  }

  void finish_run() {
    if (mismatch_.empty()) return;
    for (std::size_t i = 0; i < draft_.run_size(); ++i) {
      draft_.run_records()[i].status = RecordStatus::failed;
      draft_.run_records()[i].reason = mismatch_;
    }
    mismatch_.clear();
  }

  Draft draft_;
  TransferBenchPresets presets_;
  TransferBenchGroups groups_;
  LineReader lines_;
  CsvTable table_;
  std::vector<std::string> matrix_;  // column names
  std::string scope_ = "a2a", size_, mismatch_;
  std::uint64_t test_ = 0;
};

class TransferBench final : public Importer {
 public:
  std::string_view name() const override { return "transferbench"; }
  std::string_view summary() const override {
    return "TransferBench: tests, presets, CSV; also inside rocm-bandwidth-test";
  }
  int recognises(const ImportText& input) const override {
    if (contains(input.text, "TransferBench v")) return 95;
    if (contains(input.text, "Test#,Transfer#,NumBytes")) return 95;
    // The head may be missing; what is left has titles that no other program prints.
    for (const char* title :
         {"SRC\\DST ", "SRC+EXE\\DST", "SRC\\EXE+DST", "GPU-GFX All-To-All",
          "GPU-GFX Scaling benchmark", "GPU-GFX Rings benchmark", "NIC All-To-All benchmark",
          "| Local Read  | Local Write |", "BlkS   UnR ", "Testing HBM performance ["}) {
      if (contains(input.text, title)) return 85;
    }
    return contains(input.text, "Executor:") && contains(input.text, "Transfer ") &&
                   contains(input.text, "GB/s")
               ? 80
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const TransferBench importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::transferbench_importer
