// Intel Memory Latency Checker: latencies and bandwidths between NUMA nodes, of traffic mixes,
// under load and between caches.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/import/matrix.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::mlc_importer {
namespace {

using Axes = std::vector<std::pair<std::string, std::string>>;

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "mlc", "Intel Memory Latency Checker"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (lines_.next(line)) {
      const std::string_view text = trim(line.text);
      if (!title(text) && !measured(text, line.number)) matrix(text, line.number);
    }
    return draft_.finish();
  }

 private:
  bool title(std::string_view text) {
    const std::size_t version = text.find("Memory Latency Checker - v");
    if (version != text.npos) {
      if (draft_.run_has_records()) draft_.next_run();
      draft_.run().version = text.substr(version + 26);
      test_.clear();
      return true;
    }
    if (text.starts_with("Command line parameters:")) {
      draft_.run().note("parameters", after_label(text, "parameters"));
      return true;
    }
    if (text.starts_with("Using buffer size of")) {
      draft_.run().note("buffer", text.substr(21));
      return true;
    }
    if (text.starts_with("Using ") && contains(text, "traffic type")) {
      draft_.run().note("traffic", text);
      return true;
    }
    if (!text.starts_with("Measuring ")) return false;
    columns_.clear();
    const bool random = contains(text, "random access");
    if (contains(text, "idle latencies")) {
      test_ = random ? "idle_latency_random" : "idle_latency";
    } else if (contains(text, "Peak Injection") || contains(text, "Peak Memory")) {
      test_ = "peak_bandwidth";
    } else if (contains(text, "Maximum Memory Bandwidths")) {
      test_ = "max_bandwidth";
    } else if (contains(text, "Bandwidths between nodes")) {
      test_ = "node_bandwidth";
    } else if (contains(text, "Loaded Latencies")) {
      test_ = "loaded_latency";
    } else if (contains(text, "cache-to-cache")) {
      test_ = "cache_to_cache_latency";
    } else {
      test_ = identifier(text.substr(10));
    }
    return true;
  }

  Record& add(const Axes& axes, std::string_view name, std::string_view text, std::size_t number) {
    const bool latency = name == "latency";
    Axes all = {{"test", test_}};
    all.insert(all.end(), axes.begin(), axes.end());
    Record& record = draft_.add(Cell("mlc", std::move(all)), number);
    const double value = *parse_number(text);
    record.metrics = {latency ? metric(name, to_si(value, 1e-9), "s", Better::lower, text)
                              : metric(name, value * 1e6, "bytes/s", Better::higher, text)};
    return record;
  }

  /// Lines with a name and a number, and rows of loaded latencies. MB/sec are 10^6 bytes.
  bool measured(std::string_view text, std::size_t number) {
    const auto words = split_words(text, 16);
    if (test_ == "peak_bandwidth" || test_ == "max_bandwidth") {
      const std::size_t colon = text.rfind(':');
      if (colon == text.npos || !parse_number(trim(text.substr(colon + 1)))) return false;
      add({{"traffic", identifier(text.substr(0, colon))}}, "bandwidth",
          trim(text.substr(colon + 1)), number);
      return true;
    }
    if (test_ == "loaded_latency") {  // " 00000\t 250.12\t 158000.0"
      if (words.size() != 3 || !parse_count(words[0]) || !parse_number(words[1]) ||
          !parse_number(words[2])) {
        return false;
      }
      Record& record =
          add({{"delay", fmt::format("{}", *parse_count(words[0]))}}, "latency", words[1], number);
      record.metrics.push_back(
          metric("bandwidth", *parse_number(words[2]) * 1e6, "bytes/s", Better::higher, words[2]));
      return true;
    }
    const std::size_t latency = text.find("latency");
    if (test_ == "cache_to_cache_latency" && latency != text.npos) {
      columns_.clear();
      transfer_ = identifier(text.substr(0, latency));
      const std::size_t homed = text.find("homed in ");
      const auto home = split_words(text.substr(std::min(homed, text.size())), 3);
      if (home.size() > 2) transfer_ += "_homed_in_" + identifier(home[2]);
      if (words.size() > 2 && parse_number(words.back())) {
        add({{"transfer", transfer_}}, "latency", words.back(), number);
      }
      return true;
    }
    // "Each iteration took 140.3 base frequency clocks (	61.0	ns)"
    const std::size_t open = text.find('(');
    if (text.starts_with("Each iteration took") && open != text.npos) {
      const auto value = split_words(text.substr(open + 1), 2);
      if (value.size() == 2 && parse_number(value[0]) && value[1].starts_with("ns")) {
        test_ = "idle_latency";
        add({}, "latency", value[0], number);
      }
      return true;
    }
    return false;
  }

  /// "Numa node  0  1" and below it rows with the name of the node that measures; until version 3.3
  /// "Socket  0  1".
  void matrix(std::string_view text, std::size_t number) {
    auto words = split_words(text);
    const std::string lower = lower_case(text);
    for (const std::string_view corner : {"numa node", "socket"}) {
      const std::size_t node = lower.find(corner);
      if (node == lower.npos) continue;
      const auto names = split_words(text.substr(node + corner.size()));
      columns_.clear();
      for (const std::string_view name : names) {
        if (parse_count(name)) columns_.emplace_back(name);
      }
      return;
    }
    if (columns_.empty() || words.size() < 2 || !parse_count(words[0])) return;
    const bool cut = words.size() < columns_.size() + 1;
    for (std::size_t i = 1; i < words.size() && i <= columns_.size(); ++i) {
      if (!parse_number(words[i]) || (cut && i + 1 == words.size())) continue;  // "-"
      Axes axes;
      if (test_ == "cache_to_cache_latency") axes.emplace_back("transfer", transfer_);
      axes.emplace_back("from", words[0]);
      axes.emplace_back("to", columns_[i - 1]);
      add(axes, test_ == "node_bandwidth" ? "bandwidth" : "latency", words[i], number);
    }
    if (cut) draft_.warn(number, "the row is truncated");
  }

  Draft draft_;
  LineReader lines_;
  std::string test_, transfer_;
  std::vector<std::string> columns_;
};

class Mlc final : public Importer {
 public:
  std::string_view name() const override { return "mlc"; }
  std::string_view summary() const override { return "Intel Memory Latency Checker"; }
  int recognises(const ImportText& input) const override {
    if (contains(input.text, "Memory Latency Checker - v")) return 90;
    // The head may be missing; what is left has titles that no other program prints.
    for (const char* title : {"Measuring idle latencies", "Measuring Loaded Latencies for",
                              "Measuring Memory Bandwidths between nodes",
                              "Measuring cache-to-cache transfer latency"}) {
      if (contains(input.text, title)) return 85;
    }
    return contains(input.text, "Numa node") && contains(input.text, "Measuring ") ? 70 : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const Mlc importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::mlc_importer
