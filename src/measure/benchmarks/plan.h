// From what the user names to the cells to measure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/device/device.h"
#include "core/cell.h"
#include "core/result.h"
#include "measure/benchmarks/axis.h"
#include "measure/benchmarks/external_command.h"
#include "ranks/team/team.h"

namespace assay {

struct Plan {
  std::string name;  ///< of the suite or benchmark
  std::vector<Cell> cells;
  std::optional<double> budget_seconds;   ///< the suite's
  std::vector<ExternalCommand> commands;  ///< cells that are other programs
};

/// `target` is a suite itself if it begins with '{' (inline_text() makes such text), a suite file
/// (it holds a '/' or ends in .yaml), else a suite's name, else a benchmark's; a suite named like a
/// benchmark is that benchmark's own selection. Settings replace axes. Error: usage, with the
/// nearest name and all names.
Result<Plan> make_plan(std::string_view target, const std::vector<AxisSetting>& settings);

/// The cells as this device and team have them (Benchmark::expand), none twice.
std::vector<Cell> expand_on(const std::vector<Cell>& cells, const Device& device, const Team& team);

}  // namespace assay
