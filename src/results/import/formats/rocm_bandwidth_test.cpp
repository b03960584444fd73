// rocm_bandwidth_test 2.x: tables of one pair by size, and matrices of all pairs.
#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "results/import/matrix.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::rocm_bandwidth_test_importer {
namespace {

/// "64 MB", "1KB", "512M" in bytes: the letters stand for powers of two. Nullopt if invalid.
std::optional<std::uint64_t> parse_binary_size(std::string_view text) {
  text = trim(text);
  const std::size_t digits = text.find_first_not_of("0123456789");
  const auto value = parse_count(text.substr(0, digits));
  if (!value || digits == std::string_view::npos) return value;
  const std::string suffix = lower_case(trim(text.substr(digits)));
  int shift = 0;
  if (suffix == "k" || suffix == "kb" || suffix == "kib") {
    shift = 10;
  } else if (suffix == "m" || suffix == "mb" || suffix == "mib") {
    shift = 20;
  } else if (suffix == "g" || suffix == "gb" || suffix == "gib") {
    shift = 30;
  } else if (suffix != "b" && suffix != "bytes") {
    return std::nullopt;
  }
  if (*value > (UINT64_MAX >> shift)) return std::nullopt;
  return *value << shift;
}

using Axes = std::vector<std::pair<std::string, std::string>>;

/// A column of the table for one pair.
struct Column {
  std::string_view title;
  std::string_view name;
  Better better;
};
constexpr Column known_columns[] = {{"Avg BW", "bandwidth", Better::higher},
                                    {"Peak BW", "peak_bandwidth", Better::higher},
                                    {"Avg Time", "time", Better::lower},
                                    {"Min Time", "min_time", Better::lower}};

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "rocm-bandwidth-test", "rocm-bandwidth-test"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (lines_.next(line)) {
      const std::string_view text = trim(line.text);
      if (text.starts_with("RocmBandwidthTest Version")) {
        if (draft_.run_has_records()) draft_.next_run();
        draft_.run().version = after_label(text, "Version");
        titles_.clear();
        in_matrix_ = false;
      } else if (!title(text) && !pair_row(text, line.number)) {
        matrix_line(text, line.number);
      }
    }
    return draft_.finish();
  }

 private:
  bool title(std::string_view text) {
    if (text.starts_with("Launch Command is")) {
      draft_.run().note("command", after_label(text, "Launch Command is"));
      return true;
    }
    if (text.starts_with("Device:")) {  // "Device: 2,  AMD Instinct MI300X,  GPU-uuid,  bdf"
      const auto parts = split_at(text, ',');
      if (parts.size() > 2 && contains(parts[2], "GPU-") && draft_.run().device.empty()) {
        draft_.run().device = parts[1];
      }
      return true;
    }
    const std::string lower = lower_case(text);
    // Version 2.0.1 spells it "Bdirectional".
    const bool both = contains(lower, "bidirectional") || contains(lower, "bdirectional");
    if (both || contains(lower, "unidirectional")) {
      both_ = both;
      matrix_is_bandwidth_ = contains(lower, "bandwidth");
      peak_ = contains(lower, "peak");
      in_matrix_ = false;
      return true;
    }
    if (contains(text, "Inter-Device")) {  // access and NUMA distance, not measurements
      matrix_is_bandwidth_ = in_matrix_ = false;
      return true;
    }
    for (const auto& [label, device] :
         {std::pair{"Src Device", &source_}, {"Dst Device", &target_}}) {
      const auto id = split_words(after_label(text, fmt::format("{} Id", label)), 1);
      const auto type = split_words(after_label(text, fmt::format("{} Type", label)), 1);
      if (id.empty() || type.empty()) continue;
      *device = lower_case(type.front()) + std::string(id.front());
      titles_.clear();
      return true;
    }
    if (text.starts_with("Data Size")) {
      // Column titles end in a unit in parentheses; before the first title is the size.
      titles_.clear();
      for (std::size_t at = 9; at < text.size();) {
        const std::size_t close = text.find(')', at);
        if (close == std::string_view::npos) break;
        titles_.emplace_back(trim(text.substr(at, close + 1 - at)));
        at = close + 1;
      }
      return true;
    }
    return false;
  }

  /// "1 KB           5.400          0.190          5.280          0.194"
  bool pair_row(std::string_view text, std::size_t number) {
    if (titles_.empty()) return false;
    const auto words = split_words(text, 16);
    if (words.size() < 2) return false;
    const auto size = parse_binary_size(fmt::format("{} {}", words[0], words[1]));
    if (!size || parse_number(words[1])) return false;
    if (words.size() < 2 + titles_.size()) {
      draft_.warn(number, "the row is truncated, skipped");
      return true;
    }
    std::vector<Metric> metrics;
    for (const Column& column : known_columns) {
      for (std::size_t i = 0; i < titles_.size(); ++i) {
        if (!titles_[i].starts_with(column.title)) continue;
        const std::string_view word = words[2 + i];
        const std::size_t open = titles_[i].find('(');
        const auto unit = measured_unit(
            std::string_view(titles_[i]).substr(open + 1, titles_[i].size() - open - 2));
        const auto value = parse_number(word);
        if (!unit || !value) continue;
        metrics.push_back(
            metric(column.name, to_si(*value, unit->factor), unit->si, column.better, word));
      }
    }
    if (metrics.empty()) {
      draft_.warn(number, "its values are not numbers, skipped");
      return true;
    }
    Record& record = draft_.add(Cell("peer", {{"direction", both_ ? "both" : "one"},
                                              {"src", source_},
                                              {"dst", target_},
                                              {"size", format_size(*size)}}),
                                number);
    record.metrics = std::move(metrics);
    return true;
  }

  void matrix_line(std::string_view text, std::size_t number) {
    const auto words = split_words(text);
    if (words.empty() || !matrix_is_bandwidth_) return;
    if (words[0] == "D/D") {
      columns_ = matrix_header(words);
      in_matrix_ = true;
      return;
    }
    if (!in_matrix_) return;
    const auto row = matrix_row(words);
    if (!row) return;
    const bool cut = row->values.size() < columns_.size();
    if (cut) draft_.warn(number, "the row is truncated");
    for (std::size_t i = 0; i + (cut ? 1 : 0) < row->values.size() && i < columns_.size(); ++i) {
      const auto value = parse_number(row->values[i]);
      if (!value) continue;  // N/A
      Record& record = draft_.add(
          Cell("peer",
               {{"direction", both_ ? "both" : "one"}, {"src", row->name}, {"dst", columns_[i]}}),
          number);
      record.metrics = {metric(peak_ ? "peak_bandwidth" : "bandwidth", *value * 1e9, "bytes/s",
                               Better::higher, row->values[i])};
    }
  }

  Draft draft_;
  LineReader lines_;
  std::vector<std::string> titles_, columns_;
  std::string source_ = "unknown", target_ = "unknown";
  bool both_ = false, peak_ = false, matrix_is_bandwidth_ = false, in_matrix_ = false;
};

class RocmBandwidthTest final : public Importer {
 public:
  std::string_view name() const override { return "rocm-bandwidth-test"; }
  std::string_view summary() const override {
    return "rocm_bandwidth_test 2.x: one pair by size, or all pairs";
  }
  int recognises(const ImportText& input) const override {
    if (contains(input.text, "RocmBandwidthTest Version")) return 90;
    if (contains(input.text, "Data Size") && contains(input.text, "Avg Time(us)")) return 70;
    return contains(input.text, "directional copy ") && contains(input.text, "D/D ") ? 70 : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const RocmBandwidthTest importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::rocm_bandwidth_test_importer
