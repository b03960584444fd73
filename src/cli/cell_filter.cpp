#include "cli/cell_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/grid/benchmark.h"

namespace assay::cli {
namespace {

Result<bool> fits(const AxisSetting& setting, const Cell& cell) {
  const std::string_view value = cell.text(setting.axis);
  if (value.empty()) return false;
  if (const Benchmark* benchmark = find_benchmark(cell.benchmark())) {
    for (const Axis& axis : benchmark->axes()) {
      if (axis.name != setting.axis) continue;
      const auto wanted = TRY(expand(axis, setting.values));
      return std::find(wanted.begin(), wanted.end(), value) != wanted.end();
    }
  }
  return fmt::format(",{},", setting.values).find(fmt::format(",{},", value)) != std::string::npos;
}

}  // namespace

Result<bool> matches(const CellFilter& filter, const Cell& cell) {
  if (!filter.benchmark.empty() && cell.benchmark() != filter.benchmark) return false;
  for (const AxisSetting& setting : filter.settings) {
    if (!TRY(fits(setting, cell))) return false;
  }
  return true;
}

}  // namespace assay::cli
