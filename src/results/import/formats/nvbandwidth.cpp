// nvbandwidth's matrices and its JSON. Values are in GB/s, or in ns for latency tests.
#include <fmt/format.h>

#include "core/text.h"
#include "results/import/json_documents.h"
#include "results/import/matrix.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::nvbandwidth_importer {
namespace {

/// The unit in parentheses at the end of a matrix's description.
std::optional<MeasuredUnit> described_unit(std::string_view description) {
  const std::size_t open = description.rfind('(');
  const std::size_t close = description.find(')', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  return measured_unit(description.substr(open + 1, close - open - 1));
}

/// The unit of a test's numbers where its description is missing.
MeasuredUnit unit_of_test(std::string_view test) {
  return contains(test, "latency") ? MeasuredUnit{"s", 1e-9} : MeasuredUnit{"bytes/s", 1e9};
}

void put_value(Record& record, std::string_view text, const MeasuredUnit& unit) {
  const bool latency = unit.si == "s";
  record.metrics = {metric(latency ? "latency" : "bandwidth",
                           to_si(*parse_number(text), unit.factor), unit.si,
                           latency ? Better::lower : Better::higher, text)};
}

Cell pair_cell(std::string_view test, std::string_view row, std::string_view column) {
  return Cell(
      "peer",
      {{"op", std::string(test)}, {"row", std::string(row)}, {"column", std::string(column)}});
}

/// Versions before 0.5 printed 0.00 for a device with itself.
bool not_measured(std::string_view value, std::string_view row, std::string_view column) {
  return !parse_number(value) || (row == column && *parse_number(value) == 0);
}

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "nvbandwidth", "nvbandwidth"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (lines_.next(line)) {
      const std::string_view text = trim(line.text);
      if (!facts(text) && !row(text, line.number)) statistic(text, line.number);
    }
    return draft_.finish();
  }

 private:
  bool facts(std::string_view text) {
    RunFacts& run = draft_.run();
    if (text.starts_with("nvbandwidth Version:")) {
      if (draft_.run_has_records()) draft_.next_run();
      matrix_begin_ = 0;
      test_.clear();
      draft_.run().version = after_label(text, "Version");
      return true;
    }
    if (text.starts_with("Running ")) {
      test_ = text.substr(8);
      if (test_.ends_with('.')) test_.pop_back();
      columns_.clear();
      unit_ = std::nullopt;
      waits_ = true;
      return true;
    }
    if (text.starts_with("CUDA Runtime Version:")) {
      run.note("cuda_runtime", after_label(text, "Version"));
    }
    if (text.starts_with("Driver Version:")) run.note("driver", after_label(text, "Version"));
    if (text.starts_with("Device 0:")) run.device = device_name(text.substr(9));
    if (contains(text, "(row)") || contains(text, "bandwidth (") || contains(text, "latency (")) {
      unit_ = described_unit(text);
      waits_ = false;
      columns_.clear();
      matrix_begin_ = draft_.run_size();
      return true;
    }
    return false;
  }

  /// Removes the PCI address that newer versions add.
  static std::string_view device_name(std::string_view text) {
    const std::size_t open = text.rfind(" (");
    return trim(text.substr(0, open));
  }

  bool row(std::string_view text, std::size_t number) {
    if (!unit_ || test_.empty()) return false;
    auto words = split_words(text);
    if (words.empty()) return false;
    if (columns_.empty()) {
      for (const std::string_view word : words) {
        if (!parse_count(word)) return false;
      }
      columns_.assign(words.begin(), words.end());
      return true;
    }
    const auto parsed = matrix_row(words);
    if (!parsed || !parse_count(parsed->name)) return false;
    if (parsed->values.size() != columns_.size()) {
      draft_.warn(number, fmt::format("{} values under {} columns; the last one may be truncated",
                                      parsed->values.size(), columns_.size()));
    }
    for (std::size_t i = 0; i < parsed->values.size() && i < columns_.size(); ++i) {
      if (not_measured(parsed->values[i], parsed->name, columns_[i])) continue;
      // In a truncated row, the last value may be truncated too.
      if (parsed->values.size() < columns_.size() && i + 1 == parsed->values.size()) continue;
      Record& record = draft_.add(pair_cell(test_, parsed->name, columns_[i]), number);
      put_value(record, parsed->values[i], *unit_);
    }
    return true;
  }

  /// "SUM key 20785.58" ends a matrix; the key distinguishes the matrices of one test.
  void statistic(std::string_view text, std::size_t number) {
    const auto words = split_words(text, 4);
    if (words.size() == 3 && (words[0] == "SUM" || words[0] == "MIN" || words[0] == "MAX" ||
                              words[0] == "AVG" || words[0] == "COEFFICIENT_OF_VARIATION")) {
      const auto value = parse_number(words[2]);
      if (!value) return;
      if (words[0] == "SUM") {
        rename(words[1]);
        columns_.clear();
      }
      Record& record = draft_.add(
          Cell("peer", {{"op", std::string(words[1])}, {"scope", lower_case(words[0])}}), number);
      const bool share = words[0] == "COEFFICIENT_OF_VARIATION";
      if (share) {
        record.metrics = {metric("variation", *value, "1", Better::lower, words[2])};
      } else {
        put_value(record, words[2], unit_.value_or(unit_of_test(words[1])));
      }
      waits_ = false;
    } else if (text.starts_with("Waived") && waits_) {
      waits_ = false;  // what follows is of tests that do not even print their names
      Record& record = draft_.add(Cell("peer", {{"op", test_}}), number);
      record.status = RecordStatus::unsupported;
      record.reason = "nvbandwidth waived the test: it does not apply to this machine";
    } else if (text.starts_with("ERROR") || contains(text, "Verification failed")) {
      Record& record =
          draft_.add(Cell("peer", {{"op", test_.empty() ? "unknown" : test_}}), number);
      record.status = RecordStatus::error;
      record.reason = text.substr(0, 200);
    }
  }

  void rename(std::string_view key) {
    Record* records = draft_.run_records();
    for (std::size_t i = matrix_begin_; i < draft_.run_size(); ++i) {
      const Cell& cell = records[i].cell;
      if (cell.text("row").empty()) continue;
      records[i].cell = pair_cell(key, cell.text("row"), cell.text("column"));
    }
    matrix_begin_ = draft_.run_size();
  }

  Draft draft_;
  LineReader lines_;
  std::string test_;
  std::optional<MeasuredUnit> unit_;
  std::vector<std::string> columns_;
  std::size_t matrix_begin_ = 0;
  bool waits_ = false;  // the test has printed its name and nothing else
};

class Nvbandwidth final : public Importer {
 public:
  std::string_view name() const override { return "nvbandwidth"; }
  std::string_view summary() const override { return "nvbandwidth's matrices and sums"; }
  int recognises(const ImportText& input) const override {
    if (contains(input.text, "nvbandwidth Version:")) return 95;
    if (looks_like_json(input.text)) return 0;
    const bool named = contains(input.text, "_memcpy_") || contains(input.text, "_latency_sm");
    return contains(input.text, "SUM ") && named ? 70 : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

class NvbandwidthJson final : public Importer {
 public:
  std::string_view name() const override { return "nvbandwidth-json"; }
  std::string_view summary() const override { return "JSON written by nvbandwidth with --json"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "\"nvbandwidth\"") && looks_like_json(input.text) ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "nvbandwidth");
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      draft.next_run();
      const JsonNode* top = document.node.find("nvbandwidth");
      const JsonNode* tests = top == nullptr ? nullptr : top->find("testcases");
      if (tests == nullptr || !tests->is_array()) {
        return draft.wrong(document.line, "nvbandwidth.testcases is missing or not an array");
      }
      facts(draft.run(), *top);
      for (const JsonNode& test : tests->items) add(draft, test);
    }
    return draft.finish();
  }

 private:
  static void facts(RunFacts& run, const JsonNode& top) {
    run.version = top.at("version");
    run.note("cuda_runtime", top.at("CUDA Runtime Version"));
    run.note("driver", top.at("Driver Version"));
    run.note("hosts", top.at("Hostname"));
    const JsonNode* devices = top.find("GPU Device list");
    if (devices == nullptr || devices->items.empty()) return;
    std::string_view device = devices->items.front().text;  // "0: NVIDIA H100 (0000:..): (host)"
    const std::size_t colon = device.find(':');
    if (colon != std::string_view::npos) device.remove_prefix(colon + 1);
    run.device = trim(device.substr(0, device.find(" (")));
  }

  static void add(Draft& draft, const JsonNode& test) {
    const std::string name(test.at("name").empty() ? "unknown" : test.at("name"));
    const std::string_view status = test.at("status");
    if (status != "Passed" && !status.empty()) {
      Record& record = draft.add(Cell("peer", {{"op", name}}), 0);
      record.status = status == "Waived" ? RecordStatus::unsupported : RecordStatus::error;
      record.reason = fmt::format("nvbandwidth says {}", status);
    }
    const auto unit = described_unit(test.at("bandwidth_description")).value_or(unit_of_test(name));
    const JsonNode* matrix = test.find("bandwidth_matrix");
    for (std::size_t i = 0; matrix != nullptr && i < matrix->items.size(); ++i) {
      const JsonNode& values = matrix->items[i];
      for (std::size_t j = 0; j < values.items.size(); ++j) {
        const std::string row = fmt::format("{}", i), column = fmt::format("{}", j);
        if (not_measured(values.items[j].text, row, column)) continue;
        put_value(draft.add(pair_cell(name, row, column), 0), values.items[j].text, unit);
      }
    }
    for (const char* key : {"sum", "min", "max", "average"}) {
      if (!test.number_at(key)) continue;
      const std::string scope = std::string_view(key) == "average" ? "avg" : key;
      put_value(draft.add(Cell("peer", {{"op", name}, {"scope", scope}}), 0), test.at(key), unit);
    }
  }
};

const Nvbandwidth importer;
const NvbandwidthJson json_importer;
const ImporterRegistry::Add registered{&importer};
const ImporterRegistry::Add registered_json{&json_importer};

}  // namespace
}  // namespace assay::nvbandwidth_importer
