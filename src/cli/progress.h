// The progress of a run. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal.h"

namespace assay::cli {

/// The time assumed for a cell before any was measured: the default warm-up plus time box.
constexpr double usual_cell_seconds = 3;

/// How far a run is.
struct Progress {
  std::size_t done = 0;   ///< cells, or other steps, that have ended
  std::size_t total = 0;  ///< all of them
  double elapsed_seconds = 0;
  std::optional<double> budget_seconds = {};  ///< time for all of them; empty: no limit
  std::string label = {};                     ///< the cell being measured
};

/// Returns the average time per finished cell, or usual_cell_seconds before any has finished, times
/// the cells left; never more than the remaining budget.
double seconds_left(const Progress& progress);

/// Returns "[#####-----]  12/24  0:21 left  memory op=triad size=1GiB", at most `width` columns
/// long; a narrow one has no bar.
std::string progress_line(const Progress& progress, std::size_t width, const Style& style);

}  // namespace assay::cli
