// Which cells the user wants to see.
#pragma once

#include <string>
#include <vector>

#include "core/cell.h"
#include "measure/benchmarks/axis.h"

namespace assay::cli {

struct CellFilter {
  std::string benchmark;  ///< empty: any
  std::vector<AxisSetting> settings;
};

/// Whether the cell is of the benchmark and has one of each setting's values. Values are as the
/// benchmark spells them, so that size=1024KiB finds 1MiB; those of a benchmark that this assay
/// does not have are compared by text. Error: usage, of a value that the axis cannot have.
Result<bool> matches(const CellFilter& filter, const Cell& cell);

}  // namespace assay::cli
