// MIOpenDriver: the problem is told by its command, the time by a line of the kernel's or by a line
// of names and one of values that begin with "stats:".
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "results/import/csv.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"

namespace assay::miopen_driver_importer {
namespace {

/// Options of a command that tell how it is measured or checked, not what.
bool is_of_measuring(std::string_view option) {
  constexpr std::array<std::string_view, 12> names = {
      "t", "time", "i", "iter", "V", "verify", "w", "wall", "s", "search", "a", "dump_output"};
  return std::find(names.begin(), names.end(), option) != names.end();
}

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "miopen-driver", "MIOpenDriver"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (!draft_.is_full() && lines_.next(line)) {
      const std::string_view text = trim(line.text);
      if (contains(text, "MIOpenDriver")) {
        command(text);
      } else if (text.starts_with("stats:")) {
        stats(text.substr(6), line.number);
      } else if (text.starts_with("GPU Kernel Time ") && contains(text, "Elapsed:")) {
        elapsed(text, line.number);
      } else if (contains(text, "Verif") || contains(text, "FAILED")) {
        verified(text);
      }
    }
    return draft_.finish();
  }

 private:
  /// "MIOpenDriver: conv -n 1 -c 3 -H 224 ...", "./bin/MIOpenDriver convfp16 --batchsize 1"
  void command(std::string_view text) {
    constexpr std::size_t most_options = 40;
    const auto words = split_words(text, 200);
    auto word = std::find_if(words.begin(), words.end(),
                             [](std::string_view one) { return contains(one, "MIOpenDriver"); });
    if (word == words.end() || ++word == words.end()) return;
    problem_ = {{"function", std::string(*word)}};
    titles_ = {};
    for (++word; word != words.end(); ++word) {
      if (!word->starts_with('-') || problem_.size() >= most_options) continue;
      const std::string_view name = word->substr(
          word->find_first_not_of('-') == word->npos ? word->size() : word->find_first_not_of('-'));
      if (name.empty() || word + 1 == words.end() || is_of_measuring(name)) continue;
      ++word;
      // Letters of both cases are options.
      const bool upper = name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z';
      problem_.emplace_back(upper ? fmt::format("upper_{}", lower_case(name)) : identifier(name),
                            *word);
    }
  }

  /// "GPU Kernel Time Forward Conv. Elapsed: 0.056871 ms (average)"
  void elapsed(std::string_view text, std::size_t number) {
    const auto words = split_words(after_label(text, "Elapsed"), 2);
    const auto value = words.size() < 2 ? std::nullopt : parse_number(words[0]);
    if (!value || words[1] != "ms") {
      draft_.warn(number, "a kernel's time without a number in ms, skipped");
      return;
    }
    auto axes = problem_;
    const std::size_t begin = std::string_view("GPU Kernel Time ").size();
    axes.emplace_back("kernel", identifier(text.substr(begin, text.find("Elapsed") - begin)));
    Record& record = draft_.add(Cell("miopen", std::move(axes)), number);
    record.metrics = {metric("time", *value / 1e3, "s", Better::lower, words[0])};
  }

  /// "name, n, c, ho, wo, ..., GFLOPs, GB/s, timeMs" and a line of their values: of the kernel
  /// whose time was told before.
  void stats(std::string_view text, std::size_t number) {
    CsvRow row;
    for (const std::string_view part : split_at(text, ',')) row.fields.emplace_back(part);
    if (row.fields.front() == "name") {
      titles_ = CsvTable(row.fields);
      return;
    }
    if (titles_.size() == 0 || row.fields.size() != titles_.size() || !draft_.run_has_records()) {
      draft_.warn(number, "statistics without their names or without a time, skipped");
      return;
    }
    Record& record = draft_.run_records()[draft_.run_size() - 1];
    note(record, "algorithm", titles_.at(row, "name"));
    add_rate(record, "flops", "FLOP/s", titles_.at(row, "GFLOPs"));
    add_rate(record, "bandwidth", "bytes/s", titles_.at(row, "GB/s"));
  }

  /// What the time says already; nothing if the record has it.
  static void add_rate(Record& record, std::string_view name, std::string_view unit,
                       std::string_view word) {
    const auto value = parse_number(word);
    const bool known = std::any_of(record.metrics.begin(), record.metrics.end(),
                                   [&](const Metric& one) { return one.name == name; });
    if (value && !known) {
      record.metrics.push_back(metric(name, *value * 1e9, unit, Better::neither, word));
    }
  }

  /// "Forward Convolution Verifies on CPU and GPU (2.19793e-08)", "... FAILED: 0.5"
  void verified(std::string_view text) {
    if (!contains(text, "FAILED") || !draft_.run_has_records()) return;
    Record& record = draft_.run_records()[draft_.run_size() - 1];
    record.status = RecordStatus::failed;
    record.reason = text.substr(0, 200);
  }

  Draft draft_;
  LineReader lines_;
  std::vector<std::pair<std::string, std::string>> problem_ = {{"function", "unknown"}};
  CsvTable titles_;
};

class MiopenDriver final : public Importer {
 public:
  std::string_view name() const override { return "miopen-driver"; }
  std::string_view summary() const override { return "MIOpenDriver"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "GPU Kernel Time ") && contains(input.text, "Elapsed:") &&
                   contains(input.text, "MIOpen")
               ? 90
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const MiopenDriver importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::miopen_driver_importer
