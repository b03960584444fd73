#include "measure/benchmarks/tensor_parallel/tensor_conclusions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/units.h"

namespace assay {
namespace {

bool has_several_ranks(const Cell& cell) {
  return cell.text("ranks") != "1";
}

/// The axes of a cell, without those in `left_out`, as text.
std::string axes_without(const Cell& cell, std::initializer_list<std::string_view> left_out) {
  std::vector<std::string> axes;
  for (const auto& [axis, text] : cell.values()) {
    if (std::ranges::find(left_out, axis) == left_out.end()) {
      axes.push_back(fmt::format("{}={}", axis, text));
    }
  }
  return fmt::format("{}", fmt::join(axes, " "));
}

std::string axes_of_model(const Cell& cell) {
  return axes_without(cell, {"ranks", "library", "launch"});
}

Conclusion speed_of_ranks(const CellValue& value, const CellValue& one) {
  const std::string name = axes_without(value.cell, {});
  const double times = one.value / value.value;
  std::string text =
      fmt::format("tensor_parallel {}: {:.2f} times as fast as one rank", name, times);
  const auto with = value.metric("time_with_exchange"),
             without = value.metric("time_without_exchange");
  if (with && without && *with > 0) {
    // Both are medians of a few samples, so a negative difference means that no waiting can be
    // detected.
    text += *with > *without ? fmt::format("; ranks wait for each other {:.1f}% of a pass",
                                           100 * (*with - *without) / *with)
                             : "; that ranks wait for each other does not show";
  }
  return {"speedup " + name, times, "1", text};
}

/// Times of one message, by communication library.
using LibraryTimes = std::map<std::string, double>;

std::optional<Conclusion> compared_libraries(const std::string& message,
                                             const LibraryTimes& times) {
  if (times.size() < 2) return std::nullopt;
  std::vector<std::string> texts;
  const auto best = std::ranges::min_element(times, {}, &LibraryTimes::value_type::second);
  for (const auto& [library, seconds] : times) {
    texts.push_back(fmt::format("{} {}", library, format_seconds(seconds)));
  }
  return Conclusion{"fastest_message " + message, best->second, "s",
                    fmt::format("tensor_parallel {}: {}", message, fmt::join(texts, ", "))};
}

}  // namespace

std::vector<Conclusion> tensor_conclusions(std::span<const CellValue> values) {
  std::vector<Conclusion> conclusions;
  std::map<std::string, const CellValue*> alone;
  std::map<std::string, LibraryTimes> messages;
  for (const CellValue& value : values) {
    if (!has_several_ranks(value.cell)) alone.emplace(axes_of_model(value.cell), &value);
  }
  for (const CellValue& value : values) {
    if (!has_several_ranks(value.cell)) continue;
    const auto one = alone.find(axes_of_model(value.cell));
    if (one != alone.end()) conclusions.push_back(speed_of_ranks(value, *one->second));
    const auto bytes = value.metric("message_bytes"), seconds = value.metric("message_time");
    if (!bytes || !seconds) continue;
    const std::string_view operation =
        value.cell.text("model") == "toy" ? "all_gather" : "all_reduce";
    const std::string message = fmt::format("{} of {} on {} ranks, {}", operation,
                                            format_memory(static_cast<std::uint64_t>(*bytes)),
                                            value.cell.text("ranks"), value.cell.text("launch"));
    messages[message].emplace(value.cell.text("library"), *seconds);
  }
  for (const auto& [message, times] : messages) {
    if (auto compared = compared_libraries(message, times)) {
      conclusions.push_back(*std::move(compared));
    }
  }
  return conclusions;
}

}  // namespace assay
