// Which results belong on one chart: those of one metric of one benchmark, along its main numeric
// axis, over all environments. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/input.h"

namespace assay::report {

/// A value of an axis as a number: "4KiB" 4096, "2.5" 2.5, "4096x4096x4096" 4096. Empty for words,
/// and for products that are no cubes.
std::optional<double> axis_number(std::string_view text);

using Axes = std::vector<std::pair<std::string, std::string>>;

/// Order of cells for people: axis by axis, numbers by their value, so that 64KiB comes before
/// 1MiB.
bool comes_before(const Axes& a, const Axes& b);

/// What several runs say about one cell: the median of their values and an interval around it.
struct Centre {
  double median = 0;
  double low = 0, high = 0;
  std::size_t runs = 0;
};
/// The interval: with 6 runs or more that of the median over runs (95%, order statistics), with 2
/// to 5 their range, with one its own. Empty without a point.
std::optional<Centre> centre_of(const Series& series);

/// One mark of a chart.
struct Mark {
  std::size_t environment = 0;
  std::string line;   ///< values of the axes that make lines of one chart
  std::string label;  ///< value of the main axis as written, or of all that vary
  double x = 0;       ///< the main axis; 0 without one
  Centre centre;
  std::optional<Roof> roof;
  Axes axes;  ///< of its cell
};

struct Panel {
  std::string benchmark, metric, unit;
  Better better = Better::higher;
  std::string facet;  ///< what all its marks share and other panels do not: "op=triad dtype=f64"
  std::string constants;  ///< axes that have one value in all panels of this metric
  std::string x_axis;     ///< empty: there is no numeric axis
  bool x_is_size = false;
  bool lines_are_links = false;  ///< a line is a pair of devices
  std::vector<Mark> marks;       ///< by environment, line, x
};

/// Axes that name the two ends of a link, if the benchmark has them: {"from", "to"}.
std::optional<std::pair<std::string, std::string>> link_axes(const Axes& axes);

/// In the order of benchmarks and metrics. Of a benchmark with many metrics only the usual headline
/// ones; the tables have them all.
std::vector<Panel> panels_of(const std::vector<Environment>& environments);

}  // namespace assay::report
