// ib_write_bw and related programs (perftest): tables in the unit named in their header, also if
// two processes printed into one file, and the JSON of --out_json.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/text.h"
#include "core/units.h"
#include "results/import/json_documents.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::perftest_importer {
namespace {

/// perftest uses both MB and MiB for 2^20 bytes; its Gb are 10^9 bits.
std::optional<MeasuredUnit> bandwidth_unit(std::string_view name) {
  if (name == "MB/sec" || name == "MiB/sec") return MeasuredUnit{"bytes/s", 1048576};
  return measured_unit(name);
}

/// What a test's name tells, "RDMA_Write Bidirectional BW Test" or "Send Latency Test". JSON has
/// underscores for the spaces: "RDMA_Read_BW_Test".
struct Test {
  std::string op = "unknown";
  std::string direction = "unknown";  ///< "one" or "both" sides send
  bool latency = false;
};

std::optional<Test> test_of(std::string_view line) {
  if (!contains(line, "Test")) return std::nullopt;
  std::string name = lower_case(line);
  std::replace(name.begin(), name.end(), '_', ' ');
  Test test;
  test.latency = contains(name, "latency test") || contains(name, "latency multicast test");
  if (!contains(name, "bw test") && !contains(name, "bandwidth test") && !test.latency) {
    return std::nullopt;
  }
  for (const char* op : {"write", "read", "send", "atomic"}) {
    if (contains(name, op)) test.op = op;
  }
  if (contains(name, "write with imm")) test.op = "write_imm";
  test.direction = contains(name, "bidirectional") ? "both" : "one";
  return test;
}

/// Until a banner tells, the name of the program may be part of the file's name.
Test test_of_file(std::string_view name) {
  Test test;
  for (const char* op : {"write", "read", "send", "atomic"}) {
    if (contains(name, fmt::format("ib_{}_", op))) test.op = op;
  }
  return test;
}

/// What else tells the rows of a test apart. `side`: "local" or "remote", what --report-both adds
/// to the sum of both; `level`: a service level. Both may be empty, like all that is not known.
struct Row {
  std::string qps, side, level;
  std::uint64_t size = 0;
};

Cell cell_of(const Test& test, const Row& row) {
  std::vector<std::pair<std::string, std::string>> axes = {{"op", test.op}};
  if (test.latency) {
    axes.emplace_back("test", "latency");
  } else {
    axes.emplace_back("direction", test.direction);
    if (!row.side.empty()) axes.emplace_back("side", row.side);
    axes.emplace_back("qps", row.qps.empty() ? "unknown" : row.qps);
  }
  if (!row.level.empty()) axes.emplace_back("sl", row.level);
  axes.emplace_back("size", format_size(row.size));
  return Cell("rdma", std::move(axes));
}

std::vector<Metric> bandwidth_metrics(std::string_view average, std::string_view peak,
                                      std::string_view messages, const MeasuredUnit& unit) {
  std::vector<Metric> metrics;
  if (const auto value = parse_number(average)) {
    metrics.push_back(
        metric("bandwidth", to_si(*value, unit.factor), unit.si, Better::higher, average));
  }
  // 0 means that the peak was not measured, as with -N, -D or many iterations.
  if (const auto value = parse_number(peak); value && *value > 0) {
    metrics.push_back(
        metric("peak_bandwidth", to_si(*value, unit.factor), unit.si, Better::higher, peak));
  }
  if (const auto value = parse_number(messages)) {
    metrics.push_back(metric("message_rate", *value * 1e6, "1/s", Better::higher, messages));
  }
  return metrics;
}

/// A column of latencies in a table's header and in JSON; the typical one is the median.
struct Latency {
  std::string_view title, key, name;
};
constexpr std::array<Latency, 7> latencies = {
    {{"t_typical[usec]", "t_typical", "median_latency"},
     {"t_avg[usec]", "t_avg", "mean_latency"},
     {"t_min[usec]", "t_min", "min_latency"},
     {"t_max[usec]", "t_max", "max_latency"},
     {"t_stdev[usec]", "t_stdev", "std_latency"},
     {"99% percentile[usec]", "percentile_99", "p99_latency"},
     {"99.9% percentile[usec]", "percentile_99.9", "p99_9_latency"}}};

/// A table's columns by their titles: "#bytes", "#sl", "BW peak", "t_avg[usec]". Titles
/// of bandwidths stand here without their unit.
struct Table {
  std::vector<std::string> titles;
  std::optional<MeasuredUnit> unit;  ///< unit of the bandwidths
  bool latency = false;

  /// The place of a column; the number of all if there is none.
  std::size_t place(std::string_view title) const {
    return static_cast<std::size_t>(std::find(titles.begin(), titles.end(), title) -
                                    titles.begin());
  }
  /// The row's word below a title; empty if there is none.
  std::string_view at(const std::vector<std::string_view>& words, std::string_view title) const {
    const std::size_t found = place(title);
    return found < titles.size() && found < words.size() ? words[found] : std::string_view();
  }
};

/// From " #bytes  #sl  #iterations  BW peak[Gb/sec]  BW average[Gb/sec]  MsgRate[Mpps]": a title of
/// several words ends with its unit.
Table table_of(std::string_view header) {
  Table table;
  std::string title;
  for (const std::string_view word : split_words(header, 64)) {
    title += fmt::format("{}{}", title.empty() ? "" : " ", word);
    if (!title.starts_with('#') && !title.ends_with(']') && title != "tps average") continue;
    const std::size_t open = title.find('[');
    if (title.starts_with("BW average[")) {
      table.unit = bandwidth_unit(title.substr(open + 1, title.size() - open - 2));
    }
    if (title.starts_with("BW ") && open != title.npos) title.resize(open);
    table.latency = table.latency || title == "t_avg[usec]";
    table.titles.push_back(std::exchange(title, {}));
  }
  return table;
}

/// Settings in the banner that affect the measurement, under perftest's names.
constexpr std::array<std::string_view, 9> settings = {
    "Device", "Transport type", "Connection type", "TX depth",       "CQ Moderation",
    "Mtu",    "Link type",      "GID index",       "Max inline data"};

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "perftest", "perftest"),
        lines_(input.text),
        test_(test_of_file(input.name)) {}

  Result<Imported> read() {
    TextLine line;
    while (!draft_.is_full() && lines_.next(line)) {
      if (const auto test = test_of(line.text)) {
        // In a loopback test, server and client print their banners one after the other.
        if (draft_.run_has_records() || skipped_) end_run();
        ++banners_;
        test_ = *test;
        side_.clear();
      } else if (contains(line.text, "#bytes")) {
        header(line);
      } else {
        other(line);
      }
    }
    return draft_.finish();
  }

 private:
  void end_run() {
    if (!locals_.empty()) {
      sides_.emplace(locals_ + "|" + remotes_, std::move(cells_));
    }
    if (draft_.run_has_records()) draft_.next_run();
    seen_.clear();
    cells_.clear();
    locals_.clear();
    remotes_.clear();
    banners_ = 0;
    skipped_ = other_known_ = false;
  }

  /// Returns whether the other side of the same connection has printed this cell: its local
  /// addresses are the remote ones here. A run that contains both sides has printed two banners.
  bool is_other_side(const std::string& cell) {
    if (banners_ > 1 && cells_.contains(cell)) return true;
    if (!other_known_) {  // computed only once, because addresses may be long and rows many
      const auto other = sides_.find(remotes_ + "|" + locals_);
      other_ = locals_.empty() || other == sides_.end() ? nullptr : &other->second;
      other_known_ = true;
    }
    return other_ != nullptr && other_->contains(cell);
  }

  void header(const TextLine& line) {
    table_ = table_of(line.text);
    side_.clear();
    if (table_.latency) {
      test_.latency = true;
    } else if (!table_.unit) {
      draft_.warn(line.number, "a table without a known bandwidth unit");
    }
  }

  void other(const TextLine& line) {
    const auto words = split_words(line.text, 24);
    const bool known = table_.latency || table_.unit;
    const bool row = words.size() >= 4 && parse_count(words[0]) && parse_count(words[1]);
    if (!row) {
      facts(line.text);
      if (known && !words.empty() && words.size() < 4 && parse_count(words[0])) {
        draft_.warn(line.number, "the row is truncated, skipped");
      }
      return;
    }
    if (!known) {
      draft_.warn(line.number, "a row before any header that names its unit, skipped");
      return;
    }
    const std::size_t last = table_.latency ? table_.titles.size() - 1 : table_.place("BW average");
    if (words.size() <= last) {
      draft_.warn(line.number, "the row is truncated, skipped");
      return;
    }
    std::vector<Metric> metrics = table_.latency ? latencies_of(words) : bandwidths_of(words);
    if (metrics.empty()) {
      draft_.warn(line.number, "its values are not numbers, skipped");
      return;
    }
    const Cell cell = cell_of(test_, {.qps = qps_,
                                      .side = side_,
                                      .level = std::string(table_.at(words, "#sl")),
                                      .size = *parse_count(words[0])});
    if (repeats(cell, line)) return;
    if (!table_.latency && words.size() < table_.titles.size()) {
      draft_.warn(line.number, "the row is truncated, what is there is kept");
    }
    Record& record = draft_.add(cell, line.number);
    record.metrics = std::move(metrics);
    note(record, "iterations", table_.at(words, "#iterations"));
  }

  /// None unless all of them are numbers.
  std::vector<Metric> bandwidths_of(const std::vector<std::string_view>& words) const {
    const std::string_view average = table_.at(words, "BW average"),
                           peak = table_.at(words, "BW peak"),
                           messages = table_.at(words, "MsgRate[Mpps]");
    for (const std::string_view one : {average, peak, messages}) {
      if (!one.empty() && !parse_number(one)) return {};
    }
    return bandwidth_metrics(average, peak, messages, *table_.unit);
  }

  std::vector<Metric> latencies_of(const std::vector<std::string_view>& words) const {
    std::vector<Metric> metrics;
    const auto put = [&](std::string_view title, std::string_view name, std::string_view unit,
                         Better better) {
      const std::string_view word = table_.at(words, title);
      if (const auto value = parse_number(word)) {
        metrics.push_back(
            metric(name, unit == "s" ? to_si(*value, 1e-6) : *value, unit, better, word));
      }
    };
    for (const Latency& one : latencies) put(one.title, one.name, "s", Better::lower);
    put("tps average", "transaction_rate", "1/s", Better::higher);
    return metrics;
  }

  bool repeats(const Cell& cell, const TextLine& line) {
    const std::string id = cell.id();
    const bool other = is_other_side(id);
    if (!other && seen_.emplace(side_ + std::string(trim(line.text))).second) {
      cells_.insert(id);
      return false;
    }
    skipped_ = true;
    draft_.warn(line.number, "repeats a row: the other side of the connection; counted once");
    return true;
  }

  void facts(std::string_view line) {
    // --report-both prints the two sides below the table with their sum.
    if (trim(line) == "Local results:") side_ = "local";
    if (trim(line) == "Remote results:") side_ = "remote";
    // " local address: LID 0x01 QPN 0x0215 PSN 0x79fcd6 ...", one line per queue pair
    for (const auto& [label, addresses] : {std::pair{std::string_view(" local address:"), &locals_},
                                           {" remote address:", &remotes_}}) {
      const std::size_t at = line.find(label);
      if (at == line.npos || addresses->size() > most_addresses) continue;
      for (const std::string_view word : split_words(line.substr(at + label.size()), 6)) {
        *addresses += std::string(word) + " ";
      }
      other_known_ = false;
    }
    for (const std::string_view setting : settings) {
      const auto words = split_words(after_label(line, setting), 1);
      if (!words.empty()) draft_.run().note(identifier(setting), words.front());
    }
    const auto qps = split_words(after_label(line, "Number of qps"), 1);
    if (!qps.empty() && parse_count(qps.front())) qps_ = qps.front();
    const std::size_t name = line.find("device name = [");
    if (name != std::string_view::npos) {
      const std::string_view rest = line.substr(name + 15);
      draft_.run().device = rest.substr(0, rest.find(']'));
    }
    if (contains(line, "DMA-BUF")) draft_.run().note("memory", "device memory through dmabuf");
    if (contains(line, "Use ROCm memory") && contains(line, "ON")) {
      draft_.run().note("memory", "device memory, ROCm");
    }
  }

  Draft draft_;
  LineReader lines_;
  Test test_;  // until a banner tells, what the file's name tells
  std::string qps_, side_;
  Table table_;
  std::set<std::string, std::less<>> seen_;  // rows of this run
  std::set<std::string, std::less<>> cells_;
  static constexpr std::size_t most_addresses = 1 << 16;  // characters; thousands of queue pairs
  std::string locals_, remotes_;
  // The cells of each connection so far, keyed by its addresses.
  std::map<std::string, std::set<std::string, std::less<>>> sides_;
  // the cells of the current connection's other side, if known
  const std::set<std::string, std::less<>>* other_ = nullptr;
  bool other_known_ = false;
  int banners_ = 0;       // since the run began
  bool skipped_ = false;  // rows of this run
};

class Perftest final : public Importer {
 public:
  std::string_view name() const override { return "perftest"; }
  std::string_view summary() const override {
    return "tables of ib_write_bw, ib_read_lat and others (perftest)";
  }
  int recognises(const ImportText& input) const override {
    if (!contains(input.text, "#bytes")) return 0;
    const bool latency = contains(input.text, "t_avg[usec]");
    return latency || contains(input.text, "BW average[") ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

class PerftestJson final : public Importer {
 public:
  std::string_view name() const override { return "perftest-json"; }
  std::string_view summary() const override { return "JSON written by perftest with --out_json"; }
  int recognises(const ImportText& input) const override {
    if (!contains(input.text, "\"test_info\"") || !looks_like_json(input.text)) return 0;
    return contains(input.text, "\"BW_average\"") || contains(input.text, "\"t_avg\"") ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "perftest");
    const std::string text = with_quoted_keys(input.text);
    for (const JsonDocument& document : TRY(parse_json_documents({text, input.name}))) {
      draft.next_run();
      TRY(add(draft, document, input.name));
    }
    return draft.finish();
  }

 private:
  /// perftest writes the key of a service level without quotes: "sl: 3,".
  static std::string with_quoted_keys(std::string_view text) {
    std::string quoted;
    quoted.reserve(text.size());
    LineReader lines(text);
    TextLine line;
    while (lines.next(line)) {
      const std::string_view words = trim(line.text);
      if (words.starts_with("sl:")) {
        quoted.append("\"sl\"").append(words.substr(2));
      } else {
        quoted.append(line.text);
      }
      quoted += '\n';
    }
    return quoted;
  }

  static Status add(Draft& draft, const JsonDocument& document, std::string_view file) {
    const JsonNode* info = document.node.find("test_info");
    const JsonNode* results = document.node.find("results");
    if (info == nullptr || results == nullptr || !results->is_object()) {
      return draft.wrong(document.line, "test_info or results is missing");
    }
    for (std::size_t i = 0; i < info->items.size(); ++i) {
      draft.run().note(identifier(info->keys[i]), info->items[i].text);
    }
    Test test = test_of(info->at("test")).value_or(test_of_file(file));
    test.latency = results->number_at("t_avg").has_value();
    Row row;
    row.qps = info->at("Number_of_qps");
    TRY(add_result(draft, *results, test, row, document.line));
    // What --report-both adds to the sum of both sides.
    for (const char* side : {"local", "remote"}) {
      const JsonNode* one = document.node.find(fmt::format("results_{}", side));
      if (one == nullptr) continue;
      row.side = side;
      TRY(add_result(draft, *one, test, row, document.line));
    }
    return {};
  }

  static Status add_result(Draft& draft, const JsonNode& results, const Test& test, Row row,
                           std::size_t line) {
    const auto size = parse_count(results.at("MsgSize"));
    if (!size || (!results.number_at("BW_average") && !test.latency)) {
      return draft.wrong(line, "MsgSize, and BW_average or t_avg, are missing");
    }
    row.size = *size;
    row.level = results.at("sl");
    std::vector<Metric> metrics;
    std::string unit_told(results.at("BW_unit"));
    if (!test.latency) {
      // No key names the unit: it depends on --report_gbits, which the file does not contain.
      std::string_view unit = results.at("BW_unit");
      if (unit.empty()) unit = unit_of(results, *size);
      if (unit.empty()) {
        return draft.wrong(line, "neither BW_unit nor MsgRate tells the unit of BW_average");
      }
      const auto scale = bandwidth_unit(unit);
      if (!scale) return draft.wrong(line, fmt::format("unknown unit {}", unit));
      if (unit_told.empty()) {
        unit_told = fmt::format("{}, derived from message size and rate", unit);
      }
      metrics = bandwidth_metrics(results.at("BW_average"), results.at("BW_peak"),
                                  results.at("MsgRate"), *scale);
    }
    Record& record = draft.add(cell_of(test, row), line);
    record.metrics = std::move(metrics);
    note(record, "iterations", results.at("n_iterations"));
    note(record, "unit", unit_told);
    if (test.latency) {
      for (const Latency& one : latencies) {
        add_metric(record, results, one.key, one.name, 1e-6, "s", Better::lower);
      }
    }
    return {};
  }

  /// Bandwidth is message rate times size; the unit in which they agree best is the right one.
  /// Empty without a rate.
  static std::string_view unit_of(const JsonNode& results, std::uint64_t size) {
    const double average = results.number_at("BW_average").value_or(0);
    const double bytes = results.number_at("MsgRate").value_or(0) * 1e6 * static_cast<double>(size);
    if (!(bytes > 0)) return {};
    const double as_gigabits = std::abs(average * 1.25e8 - bytes);
    const double as_mebibytes = std::abs(average * 1048576 - bytes);
    return as_gigabits < as_mebibytes ? "Gb/sec" : "MiB/sec";
  }
};

const Perftest importer;
const PerftestJson json_importer;
const ImporterRegistry::Add registered{&importer};
const ImporterRegistry::Add registered_json{&json_importer};

}  // namespace
}  // namespace assay::perftest_importer
