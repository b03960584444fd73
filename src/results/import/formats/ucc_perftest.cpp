// ucc_perftest: a table of one collective operation of UCC, by count.
#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "results/import/collective.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"

namespace assay::ucc_perftest_importer {
namespace {

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "ucc-perftest", "ucc_perftest"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (!draft_.is_full() && lines_.next(line)) {
      if (contains(line.text, "Collective:")) {
        if (draft_.run_has_records()) draft_.next_run();
        op_ = collective_name(after_label(line.text, "Collective"));
        if (op_.empty()) op_ = identifier(after_label(line.text, "Collective"));
        columns_.clear();
      }
      facts(line.text);
      row(line);
    }
    return draft_.finish();
  }

 private:
  void facts(std::string_view line) {
    const auto put = [&](std::string& to, std::string_view label) {
      const auto words = split_words(after_label(line, label), 1);
      if (!words.empty()) to = words.front();
    };
    put(memory_, "Memory type");
    put(type_, "Datatype");
    put(redop_, "Reduction");
    put(inplace_, "Inplace");
    // "Count  Size  Time, us  Bandwidth, GB/s", and below it "avg min max" of both.
    if (contains(line, "Count") && contains(line, "Time, us")) {
      columns_ = {"count", "size"};
      rates_ = contains(line, "Bandwidth, GB/s");
    } else if (columns_.size() == 2 && contains(line, "avg")) {
      for (const std::string_view word : split_words(line, 6)) columns_.emplace_back(word);
    }
  }

  void row(const TextLine& line) {
    const auto words = split_words(line.text, 16);
    if (columns_.size() <= 2 || words.size() < 2 || !parse_count(words[0]) ||
        !parse_count(words[1])) {
      return;
    }
    if (words.size() != columns_.size()) {
      draft_.warn(line.number, "the row does not have the columns of its table, skipped");
      return;
    }
    const std::string_view type = collective_type(type_);
    const bool none = redop_.empty() || redop_ == "N/A";
    Record& record = draft_.add(Cell("ucc", {{"op", op_.empty() ? "unknown" : op_},
                                             {"dtype", type.empty() ? type_ : std::string(type)},
                                             {"redop", none ? "none" : redop_},
                                             {"place", inplace_.empty()  ? "unknown"
                                                       : inplace_ == "0" ? "out"
                                                                         : "in"},
                                             {"memory", memory_.empty() ? "unknown" : memory_},
                                             {"size", format_size(*parse_count(words[1]))}}),
                                line.number);
    const std::size_t times = rates_ ? (columns_.size() - 2) / 2 : columns_.size() - 2;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto value = parse_number(words[i]);
      if (!value) continue;
      const bool time = i - 2 < times;
      // The bandwidths are computed from the times: the mean alone is judged, once.
      const bool judged = columns_[i] == "avg" && time != rates_;
      record.metrics.push_back(
          metric(fmt::format("{}_{}", columns_[i] == "avg" ? "mean" : columns_[i],
                             time ? "time" : "bandwidth"),
                 time ? *value / 1e6 : *value * 1e9, time ? "s" : "bytes/s",
                 !judged ? Better::neither
                 : time  ? Better::lower
                         : Better::higher,
                 words[i]));
    }
  }

  Draft draft_;
  LineReader lines_;
  std::string op_, memory_, type_, redop_, inplace_;
  std::vector<std::string> columns_;
  bool rates_ = false;
};

class UccPerftest final : public Importer {
 public:
  std::string_view name() const override { return "ucc-perftest"; }
  std::string_view summary() const override { return "ucc_perftest's table"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "Collective:") && contains(input.text, "Time, us") ? 90 : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const UccPerftest importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::ucc_perftest_importer
