// One point of a benchmark's axes, e.g. `memory op=triad size=1GiB dtype=f64`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// A benchmark's name and its axis values, in the benchmark's axis order. assay writes values as
/// canonical text ("1GiB", "f64", "4096"), so equal points have equal texts, which is what ==
/// compares. Cells that were imported or read from a store have whatever texts the file has.
class Cell {
 public:
  Cell() = default;
  /// `values`: pairs of axis and value.
  Cell(std::string benchmark, std::vector<std::pair<std::string, std::string>> values)
      : benchmark_(std::move(benchmark)), values_(std::move(values)) {}

  const std::string& benchmark() const { return benchmark_; }
  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

  /// Returns the value of `axis`; empty if the cell has no such axis.
  std::string_view text(std::string_view axis) const;
  /// Returns the value of a size or integer axis, "4KiB" as 4096; 0 if the cell has no such axis or
  /// the text is no size.
  std::uint64_t integer(std::string_view axis) const;

  /// Returns the cell's identity in stores and on screen: "memory op=triad size=1GiB".
  std::string id() const;
  bool operator==(const Cell&) const = default;

 private:
  std::string benchmark_;
  std::vector<std::pair<std::string, std::string>> values_;
};

/// Returns the cell with `value` on `axis`; unchanged if it has no such axis.
Cell with_value(const Cell& cell, std::string_view axis, std::string_view value);
/// Returns the cell without `axis`.
Cell without_axis(const Cell& cell, std::string_view axis);

}  // namespace assay
