// Properties of a cell for charts and tables: the axes that distinguish it from others, and its
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

/// Returns the value of the axis `name`; empty if there is none.
std::string_view value_of(const Axes& axes, std::string_view name);

/// Returns whether the value of `axis` is determined by the value of `from` in all cells that have
/// `axis`.
bool follows(std::string_view axis, std::string_view from, const std::vector<const Axes*>& cells);

/// Returns the axes that distinguish the cells, without axes that follow from an earlier one. For
/// example, if each model has one batch, the model's name is enough. Cells of other programs that
/// lack an axis do not influence the result.
std::vector<std::string> telling_axes(const std::vector<const Axes*>& cells);

/// A metric of a cell that a short name is wanted for.
struct NamedCell {
  std::string benchmark, metric;
  const Axes* axes = nullptr;
};
/// Returns "memory triad 1GiB" for each: the benchmark, the axes op, metric and model, what else
/// distinguishes the cell among those of its benchmark, and the metric if there are several.
std::vector<std::string> short_names(const std::vector<NamedCell>& cells);

/// The value of one cell over several runs: the median and an interval around it.
struct Centre {
  double median = 0;
  double low = 0, high = 0;
  std::size_t runs = 0;
};
/// The interval is that of the median (95%, order statistics) for 6 runs or more, the range for 2
/// to 5 runs, and the run's own interval for one run. Empty if there is no finite
/// value.
std::optional<Centre> centre_of(const Series& series);

}  // namespace assay::report
