// The order in which readers expect cells: sizes and rates by value, not by their text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

using CellAxes = std::vector<std::pair<std::string, std::string>>;

/// A value of an axis as a number: "4KiB" 4096, "2.5" 2.5, "4096x4096x4096" 4096. Empty for words,
/// and for products whose edges differ.
std::optional<double> axis_number(std::string_view text);

/// Where a value stands among others of its axis: its number, or for a model the parameters in its
/// name. Empty for words.
std::optional<double> place_on_axis(std::string_view axis, std::string_view value);

/// Order of cells: axis by axis, numbers by value, so that 64KiB comes before 1MiB, before words.
bool comes_before(const CellAxes& a, const CellAxes& b);

}  // namespace assay
