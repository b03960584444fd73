// STREAM of McCalpin, version 5 and its derivatives with the same table.
#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"

namespace assay::stream_importer {
namespace {

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "stream", "STREAM"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (!draft_.is_full() && lines_.next(line)) {
      const std::string_view text = trim(line.text);
      if (text.starts_with("STREAM version")) {
        next_run();
        const auto words = split_words(text, 8);  // STREAM version $Revision: 5.10 $
        if (words.size() > 3) draft_.run().version = words[3];
      } else if (text.starts_with("Function") && contains(text, "Rate")) {
        if (draft_.run_has_records()) next_run();
        in_table_ = true;
      } else if (!row(text, line.number)) {
        facts(text);
      }
    }
    finish_run();
    return draft_.finish();
  }

 private:
  void next_run() {
    if (draft_.run_has_records()) {
      finish_run();
      draft_.next_run();
    }
    bytes_ = elements_ = 0;
    threads_ = {};
    in_table_ = false;
  }

  bool row(std::string_view text, std::size_t number) {
    if (!in_table_) return false;
    const auto words = split_words(text, 6);
    const bool known = !words.empty() && (words[0] == "Copy:" || words[0] == "Scale:" ||
                                          words[0] == "Add:" || words[0] == "Triad:");
    if (!known) return false;
    const auto rate = words.size() < 5 ? std::nullopt : parse_number(words[1]);
    if (!rate || !parse_number(words[4])) {
      draft_.warn(number, "the row is truncated, skipped");
      return true;
    }
    std::vector<std::pair<std::string, std::string>> axes = {
        {"op", lower_case(words[0].substr(0, words[0].size() - 1))},
        {"dtype", bytes_ == 4 ? "f32" : "f64"}};
    if (elements_ > 0) {
      axes.emplace_back("size", format_size(elements_ * (bytes_ == 0 ? 8 : bytes_)));
    }
    if (!threads_.empty()) axes.emplace_back("threads", threads_);
    Record& record = draft_.add(Cell("memory", std::move(axes)), number);
    record.metrics = {metric("bandwidth", *rate * 1e6, "bytes/s", Better::higher, words[1])};
    const char* const names[] = {"mean_time", "min_time", "max_time"};
    for (std::size_t i = 0; i < 3; ++i) {
      if (const auto seconds = parse_number(words[2 + i])) {
        record.metrics.push_back(metric(names[i], *seconds, "s", Better::lower, words[2 + i]));
      }
    }
    return true;
  }

  void facts(std::string_view text) {
    const auto words = split_words(text, 12);
    if (text.starts_with("This system uses") && words.size() > 3) {
      const auto bytes = parse_count(words[3]);
      if (bytes && *bytes <= 16) bytes_ = *bytes;
    }
    if (text.starts_with("Array size =") && words.size() > 3) {
      const auto elements = parse_count(words[3]);
      if (elements && *elements < (std::uint64_t{1} << 56)) elements_ = *elements;
    }
    if (text.starts_with("Number of Threads counted")) threads_ = after_label(text, "counted");
    if (text.starts_with("Solution Validates")) draft_.run().note("validation", text);
    if (text.starts_with("Failed Validation") && failure_.empty()) failure_ = text.substr(0, 200);
  }

  void finish_run() {
    for (std::size_t i = 0; !failure_.empty() && i < draft_.run_size(); ++i) {
      draft_.run_records()[i].status = RecordStatus::failed;
      draft_.run_records()[i].reason = failure_;
    }
    failure_.clear();
  }

  Draft draft_;
  LineReader lines_;
  std::uint64_t bytes_ = 0, elements_ = 0;  // bytes of an element, and elements of an array
  std::string_view threads_;
  std::string failure_;
  bool in_table_ = false;
};

class Stream final : public Importer {
 public:
  std::string_view name() const override { return "stream"; }
  std::string_view summary() const override { return "STREAM (McCalpin)"; }
  int recognises(const ImportText& input) const override {
    const bool table =
        contains(input.text, "Best Rate MB/s") || contains(input.text, "Rate (MB/s)");
    return table && contains(input.text, "Triad:") ? 85 : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const Stream importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::stream_importer
