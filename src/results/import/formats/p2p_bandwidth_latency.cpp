// p2pBandwidthLatencyTest of the CUDA samples, and its ports: matrices of GPUs with and without
// access to each other's memory.
#include <fmt/format.h>

#include <set>

#include "core/text.h"
#include "results/import/matrix.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::p2p_bandwidth_latency_importer {
namespace {

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "p2p-bandwidth-latency", "p2pBandwidthLatencyTest"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (lines_.next(line)) {
      const std::string_view text = trim(line.text);
      if (contains(text, "GPU Bandwidth Latency Test]")) {
        if (draft_.run_has_records()) draft_.next_run();
        titles_.clear();
        op_.clear();
      } else if (text.starts_with("Device: 0,")) {
        const auto parts = split_at(text, ',');
        if (parts.size() > 1) draft_.run().device = parts[1];
      } else if (!title(text)) {
        matrix(text, line.number);
      }
    }
    return draft_.finish();
  }

 private:
  /// "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)"
  bool title(std::string_view text) {
    if (!contains(text, "Matrix")) return false;
    // The same title again: another run whose head was cut off.
    if (contains(text, "P2P=") && !titles_.emplace(text).second) {
      draft_.next_run();
      titles_ = {std::string(text)};
    }
    columns_.clear();
    timer_.clear();
    op_.clear();
    const std::size_t open = text.rfind('('), close = text.find(')', open);
    if (!contains(text, "P2P=") || open == text.npos || close == text.npos) return true;
    unit_ = measured_unit(text.substr(open + 1, close - open - 1));
    if (!unit_) return true;
    op_ = contains(text, "Latency")          ? "latency"
          : contains(text, "Bidirectional")  ? "bidirectional"
          : contains(text, "Unidirectional") ? "unidirectional"
                                             : "unknown";
    p2p_ = contains(text, "P2P=Enabled") ? "enabled" : "disabled";
    if (contains(text, "P2P Reads")) p2p_ = "enabled_reads";
    return true;
  }

  void matrix(std::string_view text, std::size_t number) {
    const auto words = split_words(text);
    if (op_.empty() || words.empty()) return;
    if (words[0] == "D\\D" || words[0] == "GPU" || words[0] == "CPU") {
      columns_.assign(words.begin() + 1, words.end());
      // Latencies are measured twice, by the GPU's clock and by the host's.
      timer_ = words[0] == "D\\D" ? "" : lower_case(words[0]);
      return;
    }
    const auto row = matrix_row(words);
    if (columns_.empty() || !row || !parse_count(row->name)) return;
    const bool cut = row->values.size() < columns_.size();
    if (cut) draft_.warn(number, "the row is truncated");
    for (std::size_t i = 0; i + (cut ? 1 : 0) < row->values.size() && i < columns_.size(); ++i) {
      const auto value = parse_number(row->values[i]);
      if (!value) continue;
      std::vector<std::pair<std::string, std::string>> axes = {{"op", op_}, {"p2p", p2p_}};
      if (!timer_.empty()) axes.emplace_back("timer", timer_);
      axes.emplace_back("row", row->name);
      axes.emplace_back("column", columns_[i]);
      Record& record = draft_.add(Cell("peer", std::move(axes)), number);
      const bool time = unit_->si == "s";
      record.metrics = {metric(time ? "latency" : "bandwidth", to_si(*value, unit_->factor),
                               unit_->si, time ? Better::lower : Better::higher, row->values[i])};
    }
  }

  Draft draft_;
  LineReader lines_;
  std::optional<MeasuredUnit> unit_;
  std::string op_, p2p_, timer_;
  std::vector<std::string> columns_;
  std::set<std::string, std::less<>> titles_;  // of this run
};

class P2pBandwidthLatency final : public Importer {
 public:
  std::string_view name() const override { return "p2p-bandwidth-latency"; }
  std::string_view summary() const override {
    return "p2pBandwidthLatencyTest of the CUDA samples";
  }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "P2P=Disabled ") || contains(input.text, "P2P=Enabled ") ? 85 : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const P2pBandwidthLatency importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::p2p_bandwidth_latency_importer
