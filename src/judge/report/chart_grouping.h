// Decides which results share a chart: one metric of one benchmark along its main numeric axis, for
// all environments. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/report/cell_values.h"
#include "judge/report/input.h"

namespace assay::report {

/// The number of requests of a load run, which is neither a load nor a result.
inline constexpr std::string_view run_length_axis = "num_prompts";

/// One mark of a chart.
struct Mark {
  std::size_t environment = 0;
  std::string line;   ///< values of the axes that separate the lines of one chart
  std::string label;  ///< value of the main axis as written, or of all that vary
  double x = 0;       ///< the main axis; 0 without one
  Centre centre;
  std::optional<Roof> roof;
  Axes axes;          ///< of its cell
  std::string fault;  ///< why its cell is void; empty: it counts
};

struct Panel {
  std::string benchmark, metric, unit;
  Better better = Better::higher;
  std::string facet;  ///< axis values of its marks that set it apart from other panels: "op=triad
                      ///< dtype=f64"
  std::string constants;  ///< axes that have one value in all panels of this metric: of all marks,
  std::string constants_of_some;  ///< and of those that have them
  std::string x_axis;             ///< empty: there is no numeric axis
  bool x_is_size = false;
  bool lines_are_links = false;  ///< a line is a pair of devices
  std::vector<Mark> marks;       ///< by environment, line, x
};

/// Axes that name the two ends of a link, if the benchmark has them: {"from", "to"}.
std::optional<std::pair<std::string, std::string>> link_axes(const Axes& axes);

/// In the order of benchmarks and metrics. Of a benchmark with many metrics only the headline ones;
/// the tables have all.
std::vector<Panel> panels_of(const std::vector<Environment>& environments);

/// One for each kind of curve that benchmarks recorded; a line is a cell's last run.
std::vector<Panel> recorded_panels(const std::vector<Environment>& environments);

/// One for each program, or each cell, that a search tuned: every run's first figure in the order
/// of runs, and the best so far.
std::vector<Panel> tuning_panels(const std::vector<Environment>& environments);

}  // namespace assay::report
