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

/// The axis of `assay load` and of imported loads that says how many requests a run sends. It
/// describes how long the run is, not how fast requests arrive. It is therefore a chart's x axis
/// only if nothing else varies, separates neither lines nor panels of a curve, and names a category
/// only if no other axis tells the same.
inline constexpr std::string_view run_length_axis = "num_prompts";

/// One mark of a chart.
struct Mark {
  std::size_t environment = 0;  ///< index into the environments given
  std::string line;             ///< values of the axes that separate the lines of one chart
  std::string label;  ///< the main axis's value as text, or the values of all axes that vary
  double x = 0;       ///< value on Panel::x_axis, in bytes if x_is_size; 0: there is no axis
  Centre centre;
  std::optional<Roof> roof;
  Axes axes;          ///< axes of its cell
  std::string fault;  ///< why its cell is INVALID (ResultSet::faults); empty: it is valid
};

struct Panel {
  std::string benchmark, metric, unit;
  Better better = Better::higher;
  std::string facet;  ///< axis values of its marks that set it apart from other panels: "op=triad
                      ///< dtype=f64"
  std::string constants;  ///< axes with one value in all panels of this metric, for all marks
  std::string constants_of_some;  ///< axes that only some marks have, with one value on all these
  std::string x_axis;             ///< empty: there is no numeric axis
  bool x_is_size = false;         ///< x is a size in bytes
  bool lines_are_links = false;   ///< a line is a pair of devices
  std::vector<Mark> marks;  ///< sorted by environment, line, x; or environment, axes without x_axis
};

/// Returns the axes that name the two ends of a link, if the benchmark has them: {"from", "to"}.
std::optional<std::pair<std::string, std::string>> link_axes(const Axes& axes);

/// Returns panels in the order of benchmarks and metrics, of a benchmark those first whose runs
/// give intervals: they are what it measures. is_shown() (metric_choice.h) says which metrics are
/// drawn; the tables have all.
std::vector<Panel> panels_of(const std::vector<Environment>& environments);

/// Returns one panel for each kind of curve that benchmarks recorded; a line is a cell's last run.
std::vector<Panel> recorded_panels(const std::vector<Environment>& environments);

/// Returns one panel for each program or cell that a search tuned: one line is each run's
/// first metric, the other the best so far, and x is the number of the run, from 1.
std::vector<Panel> tuning_panels(const std::vector<Environment>& environments);

}  // namespace assay::report
