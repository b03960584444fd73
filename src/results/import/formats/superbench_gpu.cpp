// What SuperBench's own programs print when they run alone: gpu_copy ("gpu0_to_gpu1_write_by_sm
// 258.397", GB/s) and gpu_stream ("STREAM_COPY_double_gpu_0_buffer_4294967296_block_128
// 6711.67 81.93").
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "core/units.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"

namespace assay::superbench_gpu_importer {
namespace {

using Axes = std::vector<std::pair<std::string, std::string>>;

/// What a name of gpu_copy tells; empty if it is none.
Axes copy_axes(std::string_view name) {
  std::size_t by = name.find("_by_");
  if (by == name.npos || name.find_first_of(" \t,:;()") != name.npos) return {};
  const std::string_view path = name.substr(0, by);
  const bool device = contains(path, "gpu") || contains(path, "cpu");
  if (!device || (!contains(path, "_to_") && !contains(path, "_and_"))) return {};
  std::string_view executor = name.substr(by + 4), numa;
  if (const std::size_t under = executor.find("_under_numa"); under != executor.npos) {
    numa = executor.substr(under + 11);
    executor = executor.substr(0, under);
  }
  if (executor != "sm" && executor != "dma") return {};
  Axes axes = {{"scope", "gpu_copy"}, {"path", std::string(path)}, {"exe", std::string(executor)}};
  if (!numa.empty()) axes.emplace_back("numa", numa);
  return axes;
}

class GpuCopy final : public Importer {
 public:
  std::string_view name() const override { return "superbench-gpu-copy"; }
  std::string_view summary() const override { return "SuperBench's gpu_copy, run alone"; }
  int recognises(const ImportText& input) const override {
    constexpr std::size_t fewest = 3;  // one name alone may stand in any text
    std::size_t found = 0;
    LineReader lines(input.text);
    TextLine line;
    while (lines.next(line) && line.number < 10'000 && found < fewest) {
      const auto words = split_words(line.text, 3);
      if (words.size() == 2 && parse_number(words[1]) && !copy_axes(words[0]).empty()) ++found;
    }
    return found >= fewest ? 70 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "gpu_copy");
    LineReader lines(input.text);
    TextLine line;
    while (!draft.is_full() && lines.next(line)) {
      const auto words = split_words(line.text, 3);
      if (words.empty()) continue;
      Axes axes = copy_axes(words[0]);
      if (axes.empty()) continue;
      const auto rate = words.size() == 2 ? parse_number(words[1]) : std::nullopt;
      if (!rate) {
        draft.warn(line.number, "the row is truncated, skipped");
        continue;
      }
      Record& record = draft.add(Cell("peer", std::move(axes)), line.number);
      record.metrics = {metric("bandwidth", *rate * 1e9, "bytes/s", Better::higher, words[1])};
    }
    return draft.finish();
  }
};

/// "copy", "double", "0", "4294967296", "128" of a name of gpu_stream; empty if it is none.
Axes stream_axes(std::string_view name) {
  constexpr std::string_view begin = "STREAM_";
  if (!name.starts_with(begin)) return {};
  const auto parts = split_at(name.substr(begin.size()), '_');
  if (parts.size() != 8 || parts[2] != "gpu" || parts[4] != "buffer" || parts[6] != "block") {
    return {};
  }
  const auto bytes = parse_count(parts[5]);
  if (!bytes || !parse_count(parts[3]) || !parse_count(parts[7])) return {};
  return {{"op", lower_case(parts[0])},
          {"dtype", parts[1] == "double"  ? "f64"
                    : parts[1] == "float" ? "f32"
                                          : std::string(parts[1])},
          {"gpu", std::string(parts[3])},
          {"block", std::string(parts[7])},
          {"size", format_size(*bytes)}};
}

class GpuStream final : public Importer {
 public:
  std::string_view name() const override { return "superbench-gpu-stream"; }
  std::string_view summary() const override { return "SuperBench's gpu_stream, run alone"; }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "STREAM_COPY_") && contains(input.text, "_buffer_") ? 85 : 0;
  }
  Result<Imported> import(const ImportText& input) const override {
    Draft draft(input, name(), "gpu_stream");
    LineReader lines(input.text);
    TextLine line;
    std::string device;
    while (!draft.is_full() && lines.next(line)) {
      const std::string_view text = trim(line.text);
      if (const std::size_t quote = text.find('"');
          text.starts_with("Device ") && quote != text.npos) {
        const std::string_view rest = text.substr(quote + 1);
        device = rest.substr(0, rest.find('"'));
      }
      const auto words = split_words(text, 4);
      if (words.empty()) continue;
      Axes axes = stream_axes(words[0]);
      if (axes.empty()) continue;
      const auto rate = words.size() > 1 ? parse_number(words[1]) : std::nullopt;
      if (!rate) {
        draft.warn(line.number, "the row is truncated, skipped");
        continue;
      }
      Record& record = draft.add(Cell("memory", std::move(axes)), line.number);
      record.device.name = device;
      record.metrics = {metric("bandwidth", *rate * 1e9, "bytes/s", Better::higher, words[1])};
      if (const auto share = words.size() > 2 ? parse_number(words[2]) : std::nullopt) {
        record.metrics.push_back(
            metric("share_of_peak", *share / 100, "1", Better::neither, words[2]));
      }
    }
    return draft.finish();
  }
};

const GpuCopy copy_importer;
const GpuStream stream_importer;
const ImporterRegistry::Add registered_copy{&copy_importer};
const ImporterRegistry::Add registered_stream{&stream_importer};

}  // namespace
}  // namespace assay::superbench_gpu_importer
