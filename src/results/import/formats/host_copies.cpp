// Samples that copy between a host and its GPUs: CUDA's bandwidthTest, as a table and with --csv,
// and HIP's hipBusBandwidth.
#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "core/units.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::host_copies_importer {
namespace {

/// bandwidthTest's MB are 2^20 bytes, its GB 10^9.
std::optional<double> bytes_per_second(std::string_view rate, std::string_view unit) {
  const auto value = parse_number(rate);
  if (!value) return std::nullopt;
  if (unit == "MB/s") return *value * 1048576;
  return unit == "GB/s" ? std::optional(*value * 1e9) : std::nullopt;
}

class CudaReader {
 public:
  explicit CudaReader(const ImportText& input)
      : draft_(input, "cuda-bandwidth-test", "bandwidthTest"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (!draft_.is_full() && lines_.next(line)) {
      const std::string_view text = trim(line.text);
      if (text.starts_with("bandwidthTest-")) {
        comma_row(text, line.number);
      } else if (!table_row(text, line.number)) {
        facts(text);
      }
    }
    return draft_.finish();
  }

 private:
  /// "bandwidthTest-H2D-Pinned, Bandwidth = 8494.3 MB/s, Time = 0.00377 s, Size = 33554432 bytes,
  /// NumDevsUsed = 1"
  void comma_row(std::string_view text, std::size_t number) {
    const auto parts = split_at(text, ',');
    std::string rate, unit, size, devices;
    for (const std::string_view part : parts) {
      const auto words = split_words(part, 4);
      if (words.size() < 3 || words[1] != "=") continue;
      if (words[0] == "Bandwidth" && words.size() > 3) {
        rate = words[2];
        unit = words[3];
      }
      if (words[0] == "Size") size = words[2];
      if (words[0] == "NumDevsUsed") devices = words[2];
    }
    const auto names = split_at(parts.front(), '-');
    add(names.size() > 1 ? lower_case(names[1]) : "", names.size() > 2 ? lower_case(names[2]) : "",
        devices, size, rate, unit, number);
  }

  /// Below " Host to Device Bandwidth, 1 Device(s)", " PINNED Memory Transfers" and
  /// "   Transfer Size (Bytes)        Bandwidth(GB/s)": "   32000000  25.1".
  bool table_row(std::string_view text, std::size_t number) {
    const auto words = split_words(text, 3);
    if (unit_.empty() || words.size() != 2 || !parse_count(words[0]) || !parse_number(words[1])) {
      return false;
    }
    add(test_, memory_, devices_, words[0], words[1], unit_, number);
    return true;
  }

  void add(std::string_view test, std::string_view memory, std::string_view devices,
           std::string_view size, std::string_view rate, std::string_view unit,
           std::size_t number) {
    const auto value = bytes_per_second(rate, unit);
    const auto bytes = parse_count(size);
    if (test.empty() || !value || !bytes) {
      draft_.warn(number, "the row is truncated or has an unknown unit, skipped");
      return;
    }
    std::vector<std::pair<std::string, std::string>> axes = {{"op", std::string(test)}};
    if (!memory.empty()) axes.emplace_back("memory", memory);
    if (!devices.empty() && devices != "1") axes.emplace_back("devices", devices);
    axes.emplace_back("size", format_size(*bytes));
    Record& record = draft_.add(Cell("peer", std::move(axes)), number);
    record.metrics = {metric("bandwidth", *value, "bytes/s", Better::higher, rate)};
  }

  void facts(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> titles = {
        {{"Host to Device Bandwidth", "h2d"},
         {"Device to Host Bandwidth", "d2h"},
         {"Device to Device Bandwidth", "d2d"}}};
    for (const auto& [title, name] : titles) {
      if (!text.starts_with(title)) continue;
      test_ = name;
      memory_ = devices_ = unit_ = {};
      const auto words = split_words(text.substr(std::min(text.find(','), text.size())), 2);
      if (words.size() > 1) devices_ = words[1];
    }
    if (text.ends_with("Memory Transfers") && test_ != "d2d") {
      memory_ = lower_case(split_words(text, 1).front());
    }
    const std::size_t open = text.find("Bandwidth(");
    if (text.starts_with("Transfer Size") && open != text.npos) {
      unit_ = text.substr(open + 10, text.find(')', open) - open - 10);
    }
    if (text.starts_with("Device 0:")) draft_.run().device = trim(text.substr(9));
    if (text.starts_with("Result = ") && !text.ends_with("PASS")) {
      draft_.warn(0, fmt::format("bandwidthTest says {}", text.substr(0, 100)));
    }
  }

  Draft draft_;
  LineReader lines_;
  std::string test_, memory_, devices_, unit_;  // what the titles of the table say
};

class CudaBandwidthTest final : public Importer {
 public:
  std::string_view name() const override { return "cuda-bandwidth-test"; }
  std::string_view summary() const override { return "bandwidthTest of the CUDA samples"; }
  int recognises(const ImportText& input) const override {
    const bool table = contains(input.text, "Transfer Size (Bytes)") &&
                       contains(input.text, "to Device Bandwidth");
    return contains(input.text, "bandwidthTest-") || table ? 85 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    return CudaReader(input).read();
  }
};

class HipReader {
 public:
  explicit HipReader(const ImportText& input)
      : draft_(input, "hip-bus-bandwidth", "hipBusBandwidth"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (!draft_.is_full() && lines_.next(line)) {
      const auto words = split_words(line.text, 16);
      if (line.text.starts_with("Device:")) {
        if (draft_.run_has_records()) draft_.next_run();
        draft_.run().device = trim(line.text.substr(7, line.text.find(" Mem=") - 7));
      } else if (words.size() > 4 && words[0] == "test" && words[1] == "atts") {
        titles_.assign(words.begin(), words.end());
      } else if (!titles_.empty() && words.size() > 3) {
        row(words, line.number);
      }
    }
    return draft_.finish();
  }

 private:
  /// "H2D_Bandwidth_pinned  +064By  GB/sec  0.0414  0.0411  0.0017  0.0189  0.0434"; 64 bytes.
  void row(const std::vector<std::string_view>& words, std::size_t number) {
    std::string_view unit, size;
    std::vector<Metric> metrics;
    for (std::size_t i = 0; i < titles_.size() && i < words.size(); ++i) {
      if (titles_[i] == "units") unit = words[i];
      if (titles_[i] == "atts") size = words[i];
    }
    const auto scale = measured_unit(unit);
    const auto bytes = bytes_of(size);
    if (!scale || !bytes) return;
    if (words.size() != titles_.size()) {
      draft_.warn(number, "the row does not have the columns of its table, skipped");
      return;
    }
    const bool time = scale->si == "s";
    const std::string quantity = time ? "time" : "bandwidth";
    for (std::size_t i = 0; i < titles_.size(); ++i) {
      const auto value = parse_number(words[i]);
      if (titles_[i] == "test" || titles_[i] == "atts" || titles_[i] == "units" || !value) continue;
      const bool typical = titles_[i] == "median";
      // 0.0000 is what remains of a small rate after rounding.
      const Better better = !typical || *value == 0 ? Better::neither
                            : time                  ? Better::lower
                                                    : Better::higher;
      metrics.push_back(metric(typical ? quantity : fmt::format("{}_{}", titles_[i], quantity),
                               to_si(*value, scale->factor), scale->si, better, words[i]));
    }
    Record& record = draft_.add(
        Cell("peer", {{"test", identifier(words.front())}, {"size", format_size(*bytes)}}), number);
    record.metrics = std::move(metrics);
  }

  static std::optional<std::uint64_t> bytes_of(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const std::size_t end = text.find_first_not_of("0123456789");
    const auto count = parse_count(text.substr(0, end));
    const std::string_view unit = text.substr(std::min(end, text.size()));
    if (!count || *count > (std::uint64_t{1} << 40)) return std::nullopt;
    if (unit == "By") return *count;
    return unit == "kB" ? std::optional(*count * 1024) : std::nullopt;
  }

  Draft draft_;
  LineReader lines_;
  std::vector<std::string> titles_;
};

class HipBusBandwidth final : public Importer {
 public:
  std::string_view name() const override { return "hip-bus-bandwidth"; }
  std::string_view summary() const override { return "hipBusBandwidth of the HIP samples"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "_Bandwidth") && contains(input.text, "atts") &&
                   contains(input.text, "stddev")
               ? 85
               : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    return HipReader(input).read();
  }
};

const CudaBandwidthTest cuda_importer;
const HipBusBandwidth hip_importer;
const ImporterRegistry::Add registered_cuda{&cuda_importer};
const ImporterRegistry::Add registered_hip{&hip_importer};

}  // namespace
}  // namespace assay::host_copies_importer
