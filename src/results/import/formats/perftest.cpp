// ib_write_bw and related programs (perftest): tables in the unit named in their header, also of
// two processes that printed into one file, and the JSON of --out_json.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

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

/// From "RDMA_Write Bidirectional BW Test": "write", and whether both sides send; or from
/// "RDMA_Write Latency Test".
struct Test {
  std::string op = "write";
  bool bidirectional = false;
  bool latency = false;
};

std::optional<Test> test_of(std::string_view line) {
  Test test;
  test.latency = contains(line, "Latency Test") || contains(line, "Latency Multicast Test");
  if (!contains(line, "BW Test") && !contains(line, "Bandwidth Test") && !test.latency) {
    return std::nullopt;
  }
  if (contains(line, "Read")) test.op = "read";
  if (contains(line, "Send")) test.op = "send";
  if (contains(line, "Atomic")) test.op = "atomic";
  test.bidirectional = contains(line, "Bidirectional");
  return test;
}

Cell cell_of(const Test& test, std::string_view qps, std::uint64_t size) {
  if (test.latency) {
    return Cell("rdma", {{"op", test.op}, {"test", "latency"}, {"size", format_size(size)}});
  }
  return Cell("rdma", {{"op", test.op},
                       {"direction", test.bidirectional ? "both" : "one"},
                       {"qps", qps.empty() ? "1" : std::string(qps)},
                       {"size", format_size(size)}});
}

void add_metrics(Record& record, std::string_view average, std::string_view peak,
                 std::string_view messages, const MeasuredUnit& unit) {
  if (const auto value = parse_number(average)) {
    record.metrics.push_back(
        metric("bandwidth", to_si(*value, unit.factor), unit.si, Better::higher, average));
  }
  // 0 means that the peak was not measured: -N, -D or many iterations.
  if (const auto value = parse_number(peak); value && *value > 0) {
    record.metrics.push_back(
        metric("peak_bandwidth", to_si(*value, unit.factor), unit.si, Better::higher, peak));
  }
  if (const auto value = parse_number(messages)) {
    record.metrics.push_back(metric("message_rate", *value * 1e6, "1/s", Better::higher, messages));
  }
}

/// A column of latencies, in a table's header and as JSON; the typical one is the median.
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

/// The titles of a latency table's columns after size and iterations, in their order.
std::vector<std::string_view> latency_titles(std::string_view header) {
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const Latency& one : latencies) {
    const std::size_t at = header.find(" " + std::string(one.title));
    if (at != header.npos) found.emplace_back(at, one.title);
  }
  if (const std::size_t at = header.find("tps average"); at != header.npos) {
    found.emplace_back(at, "tps average");
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string_view> titles;
  for (const auto& [at, title] : found) titles.push_back(title);
  return titles;
}

/// Settings in the banner that affect the measurement, under perftest's names.
constexpr std::array<std::string_view, 9> settings = {
    "Device", "Transport type", "Connection type", "TX depth",       "CQ Moderation",
    "Mtu",    "Link type",      "GID index",       "Max inline data"};

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "perftest", "perftest"), lines_(input.text) {
    for (const char* op : {"write", "read", "send", "atomic"}) {
      if (contains(input.name, fmt::format("ib_{}_", op))) test_.op = op;
    }
  }

  Result<Imported> read() {
    TextLine line;
    while (lines_.next(line)) {
      if (const auto test = test_of(line.text)) {
        // In a loopback test, server and client print their banners one after the other.
        if (draft_.run_has_records() || skipped_) end_run();
        ++banners_;
        test_ = *test;
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

  /// Whether the other side of the same connection has printed this cell: what is local to it is
  /// remote here. In one run, that has printed two banners.
  bool is_other_side(const std::string& cell) {
    if (banners_ > 1 && cells_.contains(cell)) return true;
    if (!other_known_) {  // addresses may be long, and rows many
      const auto other = sides_.find(remotes_ + "|" + locals_);
      other_ = locals_.empty() || other == sides_.end() ? nullptr : &other->second;
      other_known_ = true;
    }
    return other_ != nullptr && other_->contains(cell);
  }

  void header(const TextLine& line) {
    titles_ = latency_titles(line.text);
    if (!titles_.empty()) {
      test_.latency = true;
      return;
    }
    const std::size_t open = line.text.find("average[");
    const std::size_t close = line.text.find(']', open);
    unit_ = std::nullopt;
    if (open != std::string_view::npos && close != std::string_view::npos) {
      unit_ = bandwidth_unit(line.text.substr(open + 8, close - open - 8));
    }
    if (!unit_) draft_.warn(line.number, "a table without a known bandwidth unit");
  }

  void other(const TextLine& line) {
    const auto words = split_words(line.text, 12);
    const bool row = words.size() >= 4 && parse_count(words[0]) && parse_count(words[1]);
    if (row && !titles_.empty()) return latency_row(words, line);
    if (!row) {
      facts(line.text);
      if ((unit_ || !titles_.empty()) && !words.empty() && words.size() < 4 &&
          parse_count(words[0])) {
        draft_.warn(line.number, "the row is truncated, skipped");
      }
      return;
    }
    if (!unit_) {
      draft_.warn(line.number, "a row before any header that names its unit, skipped");
      return;
    }
    const bool numbers = parse_number(words[2]) && parse_number(words[3]) &&
                         (words.size() < 5 || parse_number(words[4]));
    if (!numbers) {
      draft_.warn(line.number, "its values are not numbers, skipped");
      return;
    }
    const Cell cell = cell_of(test_, qps_, *parse_count(words[0]));
    if (repeats(cell, line)) return;
    if (words.size() < 5) draft_.warn(line.number, "its message rate is missing");
    Record& record = draft_.add(cell, line.number);
    add_metrics(record, words[3], words[2], words.size() < 5 ? "" : words[4], *unit_);
    note(record, "iterations", words[1]);
  }

  bool repeats(const Cell& cell, const TextLine& line) {
    const std::string id = cell.id();
    const bool other = is_other_side(id);
    if (!other && seen_.emplace(trim(line.text)).second) {
      cells_.insert(id);
      return false;
    }
    skipped_ = true;
    draft_.warn(line.number, "repeats a row: the other side of the connection; counted once");
    return true;
  }

  void latency_row(const std::vector<std::string_view>& words, const TextLine& line) {
    if (words.size() < 2 + titles_.size()) {
      draft_.warn(line.number, "the row is truncated, skipped");
      return;
    }
    const Cell cell = cell_of(test_, qps_, *parse_count(words[0]));
    if (repeats(cell, line)) return;
    std::vector<Metric> metrics;
    const auto put = [&](std::string_view title, std::string_view name, std::string_view unit,
                         Better better) {
      const auto at = std::find(titles_.begin(), titles_.end(), title);
      if (at == titles_.end()) return;
      const std::string_view word = words[2 + static_cast<std::size_t>(at - titles_.begin())];
      const auto value = parse_number(word);
      if (value) {
        metrics.push_back(
            metric(name, unit == "s" ? to_si(*value, 1e-6) : *value, unit, better, word));
      }
    };
    for (const Latency& one : latencies) put(one.title, one.name, "s", Better::lower);
    put("tps average", "transaction_rate", "1/s", Better::higher);
    if (metrics.empty()) {
      draft_.warn(line.number, "its values are not numbers, skipped");
      return;
    }
    Record& record = draft_.add(cell, line.number);
    record.metrics = std::move(metrics);
    note(record, "iterations", words[1]);
  }

  void facts(std::string_view line) {
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
  Test test_{.op = "unknown"};  // until a banner tells
  std::string qps_;
  std::optional<MeasuredUnit> unit_;
  std::vector<std::string_view> titles_;     // of a latency table's columns
  std::set<std::string, std::less<>> seen_;  // rows of this run
  std::set<std::string, std::less<>> cells_;
  static constexpr std::size_t most_addresses = 1 << 16;  // characters; thousands of queue pairs
  std::string locals_, remotes_;
  // The cells of each connection so far, by its addresses.
  std::map<std::string, std::set<std::string, std::less<>>> sides_;
  const std::set<std::string, std::less<>>* other_ = nullptr;  // of this connection, if known
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
    for (const JsonDocument& document : TRY(parse_json_documents(input))) {
      draft.next_run();
      TRY(add(draft, document));
    }
    return draft.finish();
  }

 private:
  static Status add(Draft& draft, const JsonDocument& document) {
    const JsonNode* info = document.node.find("test_info");
    const JsonNode* results = document.node.find("results");
    if (info == nullptr || results == nullptr || !results->is_object()) {
      return draft.wrong(document.line, "test_info or results is missing");
    }
    const auto size = parse_count(results->at("MsgSize"));
    const bool latency = results->number_at("t_avg").has_value();
    if (!size || (!results->number_at("BW_average") && !latency)) {
      return draft.wrong(document.line, "MsgSize, and BW_average or t_avg, are missing");
    }
    for (std::size_t i = 0; i < info->items.size(); ++i) {
      draft.run().note(identifier(info->keys[i]), info->items[i].text);
    }
    Test test = test_of(info->at("test")).value_or(Test{});
    if (contains(info->at("test"), "Bidirectional")) test.bidirectional = true;
    test.latency = latency;
    Record& record = draft.add(cell_of(test, info->at("Number_of_qps"), *size), document.line);
    note(record, "iterations", results->at("n_iterations"));
    if (latency) {
      for (const Latency& one : latencies) {
        add_metric(record, *results, one.key, one.name, 1e-6, "s", Better::lower);
      }
      return {};
    }
    // No key names the unit: it depends on --report_gbits, which the file does not contain.
    std::string_view unit = results->at("BW_unit");
    if (unit.empty()) unit = gigabits(*results, *size) ? "Gb/sec" : "MiB/sec";
    const auto scale = bandwidth_unit(unit);
    if (!scale) return draft.wrong(document.line, fmt::format("unknown unit {}", unit));
    add_metrics(record, results->at("BW_average"), results->at("BW_peak"), results->at("MsgRate"),
                *scale);
    note(record, "unit", fmt::format("{}, derived from message size and rate", unit));
    return {};
  }

  /// Bandwidth is message rate times size; the unit in which they agree best is the right one.
  static bool gigabits(const JsonNode& results, std::uint64_t size) {
    const double average = results.number_at("BW_average").value_or(0);
    const double bytes = results.number_at("MsgRate").value_or(0) * 1e6 * static_cast<double>(size);
    const double as_gigabits = std::abs(average * 1.25e8 - bytes);
    const double as_mebibytes = std::abs(average * 1048576 - bytes);
    return as_gigabits < as_mebibytes;
  }
};

const Perftest importer;
const PerftestJson json_importer;
const ImporterRegistry::Add registered{&importer};
const ImporterRegistry::Add registered_json{&json_importer};

}  // namespace
}  // namespace assay::perftest_importer
