// mscclpp-test: a table like that of nccl-tests, without types, whose halves are told by where
// their words stand: a test that runs in one place alone leaves the other's columns blank.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "core/units.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"

namespace assay::mscclpp_test_importer {
namespace {

struct Column {
  std::string title;
  std::size_t end = 0;  ///< where the title ends, as the numbers below it do
  int half = 0;         ///< 0: of the whole row
};

std::size_t end_of(std::string_view line, std::string_view word) {
  return static_cast<std::size_t>(word.data() - line.data()) + word.size();
}

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "mscclpp-test", "mscclpp-test"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (!draft_.is_full() && lines_.next(line)) {
      const std::size_t in = line.text.find("in-place"), out = line.text.find("out-of-place");
      if (line.text.starts_with('#') && in != line.text.npos && out != line.text.npos) {
        in_first_ = in < out;
      } else if (contains(line.text, "algbw") && contains(line.text, "size")) {
        header(line.text);
      } else if (!columns_.empty()) {
        row(line);
      }
    }
    return draft_.finish();
  }

 private:
  void header(std::string_view line) {
    if (draft_.run_has_records()) draft_.next_run();
    columns_.clear();
    int half = 0;
    for (const std::string_view word : split_words(line, 32)) {
      if (word == "#") continue;
      if (word == "time") ++half;
      columns_.push_back({std::string(word), end_of(line, word), half});
    }
  }

  /// The title that ends nearest to where the word does.
  const Column& column_of(std::size_t end) const {
    return *std::min_element(columns_.begin(), columns_.end(),
                             [&](const Column& a, const Column& b) {
                               const auto distance = [&](const Column& one) {
                                 return one.end > end ? one.end - end : end - one.end;
                               };
                               return distance(a) < distance(b);
                             });
  }

  void row(const TextLine& line) {
    const auto words = split_words(line.text, 32);
    if (words.size() < 2 || !parse_count(words[0]) || !parse_count(words[1])) return;
    for (const int half : {1, 2}) {
      std::string_view time, algbw, busbw, wrong;
      for (std::size_t i = 2; i < words.size(); ++i) {
        const Column& column = column_of(end_of(line.text, words[i]));
        if (column.half != half) continue;
        if (column.title == "time") time = words[i];
        if (column.title == "algbw") algbw = words[i];
        if (column.title == "busbw") busbw = words[i];
        if (column.title == "#wrong") wrong = words[i];
      }
      if (time.empty() && algbw.empty() && busbw.empty()) continue;
      add(half, *parse_count(words[0]), time, algbw, busbw, wrong, line.number);
    }
  }

  void add(int half, std::uint64_t size, std::string_view time, std::string_view algbw,
           std::string_view busbw, std::string_view wrong, std::size_t number) {
    const auto seconds = parse_number(time), algorithm = parse_number(algbw),
               bus = parse_number(busbw);
    if (!seconds || !algorithm || !bus) {
      draft_.warn(number, "the row is truncated, skipped");
      return;
    }
    const bool in = (half == 1) == in_first_;
    Record& record = draft_.add(Cell("collective", {{"op", "unknown"},
                                                    {"library", "mscclpp"},
                                                    {"place", in ? "in" : "out"},
                                                    {"size", format_size(size)}}),
                                number);
    record.metrics = {metric("busbw", *bus * 1e9, "bytes/s", Better::higher, busbw),
                      metric("algbw", *algorithm * 1e9, "bytes/s", Better::higher, algbw),
                      metric("time", *seconds / 1e6, "s", Better::lower, time)};
    if (const auto count = parse_number(wrong); count && *count > 0) {
      record.status = RecordStatus::failed;
      record.reason = fmt::format("{} wrong elements", wrong);
    }
  }

  Draft draft_;
  LineReader lines_;
  std::vector<Column> columns_;
  bool in_first_ = false;
};

class MscclppTest final : public Importer {
 public:
  std::string_view name() const override { return "mscclpp-test"; }
  std::string_view summary() const override { return "mscclpp-test's table"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "MSCCL++") && contains(input.text, "algbw") ? 95 : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const MscclppTest importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::mscclpp_test_importer
