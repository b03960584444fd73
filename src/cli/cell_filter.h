// Selects the cells that the user wants to see, by their benchmark and by values of their axes.
#pragma once

#include <string>
#include <vector>

#include "measure/grid/axis.h"
#include "results/record/cell.h"

namespace assay::cli {

struct CellFilter {
  std::string benchmark;              ///< empty: any
  std::vector<AxisSetting> settings;  ///< all must match; empty: any values
};

/// Returns whether the cell belongs to the benchmark and has, on the axis of each setting, one of
/// the setting's values; false if the cell lacks the axis. Values are converted to the benchmark's
/// spelling, so that size=1024KiB finds 1MiB. If this version of assay lacks the benchmark or the
/// axis, values are compared as text. Error: usage, for a value that the axis cannot have.
Result<bool> matches(const CellFilter& filter, const Cell& cell);

}  // namespace assay::cli
