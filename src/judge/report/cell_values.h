// What charts and tables need to know about one cell: the axes that tell it from others, its
// value over several runs. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/compare/result_set.h"
#include "results/record/cell_order.h"

namespace assay::report {

using Axes = CellAxes;

/// The value of the axis `name`; empty if there is none.
std::string_view value_of(const Axes& axes, std::string_view name);

/// Whether in all cells that have `axis` its value is the one that goes with the value of `from`.
bool follows(std::string_view axis, std::string_view from, const std::vector<const Axes*>& cells);

/// The axes that tell the cells apart, without those that follow from one before them: where each
/// model has its own batch, the model's name is enough. Cells of other programs that lack an axis
/// say nothing about it.
std::vector<std::string> telling_axes(const std::vector<const Axes*>& cells);

/// What several runs say about one cell: the median of their values and an interval around it.
struct Centre {
  double median = 0;
  double low = 0, high = 0;
  std::size_t runs = 0;
};
/// The interval: of the median over runs (95%, order statistics) with 6 runs or more; the range of
/// 2 to 5 runs; the run's own interval if there is one run. Empty without a point.
std::optional<Centre> centre_of(const Series& series);

}  // namespace assay::report
