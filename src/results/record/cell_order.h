// The order in which readers expect cells: sizes and rates by value, not by their text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// Pairs of axis and value, as in Cell::values() (cell.h).
using CellAxes = std::vector<std::pair<std::string, std::string>>;

/// Converts an axis value to a number: "4KiB" to 4096, "2.5" to 2.5, and the shape of a matrix
/// product, "4096x4096x4096", to 4096. Empty for words, and for shapes whose edges differ.
std::optional<double> axis_number(std::string_view text);

/// Returns the number by which a value is ordered on its axis: axis_number(), but on the axis
/// "model" the number of parameters in the name, 1.5e9 for "1.5B". Empty for words.
std::optional<double> place_on_axis(std::string_view axis, std::string_view value);

/// Orders cells axis by axis: numbers by value, so that 64KiB comes before 1MiB, and numbers before
/// words, which are in the order of their letters. Where axes differ, their names decide.
bool comes_before(const CellAxes& a, const CellAxes& b);

}  // namespace assay
