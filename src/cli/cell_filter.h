// Which cells the user wants to see.
#pragma once

#include <string>
#include <vector>

#include "measure/grid/axis.h"
#include "results/record/cell.h"

namespace assay::cli {

struct CellFilter {
  std::string benchmark;  ///< empty: any
  std::vector<AxisSetting> settings;
};

/// Whether the cell belongs to the benchmark and has one of each setting's values. Values are
/// converted to the benchmark's spelling, so that size=1024KiB finds 1MiB; for benchmarks unknown
/// to this assay they are compared as text. Error: usage, for a value that the axis cannot have.
Result<bool> matches(const CellFilter& filter, const Cell& cell);

}  // namespace assay::cli
