// One point of a benchmark's axes, e.g. `memory op=triad size=1GiB dtype=f64`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// Axis values in the benchmark's axis order. Values are canonical text ("1GiB", "f64", "4096"), so
/// two cells are equal if and only if their texts are.
class Cell {
 public:
  Cell() = default;
  Cell(std::string benchmark, std::vector<std::pair<std::string, std::string>> values)
      : benchmark_(std::move(benchmark)), values_(std::move(values)) {}

  const std::string& benchmark() const { return benchmark_; }
  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

  /// The value of `axis`; empty if the cell has no such axis.
  std::string_view text(std::string_view axis) const;
  /// The value of a size or integer axis, already validated by the axis; 0 if absent.
  std::uint64_t integer(std::string_view axis) const;

  /// "memory op=triad size=1GiB": the cell's identity in stores and on screen.
  std::string id() const;
  bool operator==(const Cell&) const = default;

 private:
  std::string benchmark_;
  std::vector<std::pair<std::string, std::string>> values_;
};

/// The cell with `value` on one of its axes.
Cell with_value(const Cell& cell, std::string_view axis, std::string_view value);
/// The cell without one of its axes.
Cell without_axis(const Cell& cell, std::string_view axis);

}  // namespace assay
