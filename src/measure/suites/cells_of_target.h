// Turns the target on the command line into the cells to measure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "measure/grid/axis.h"
#include "measure/grid/external_command.h"
#include "measure/suites/suite.h"
#include "ranks/team/team.h"
#include "results/record/cell.h"

namespace assay {

/// What a run measures.
struct Plan {
  std::string name;  ///< name of the suite or benchmark
  std::vector<Cell> cells;
  std::optional<double> budget_seconds;   ///< budget of the suite; empty: none
  std::vector<ExternalCommand> commands;  ///< programs; `cells` has a cell with each one's name
};

/// The plan of a suite: its cells without those that repeat another one because an axis has no
/// effect on them (Benchmark::redundant), unless all do. Error: as from cells_of().
Result<Plan> plan_of(const Suite& suite, const std::vector<AxisSetting>& settings);

/// The plan of a target. `target` is the text of a suite if it begins with '{' (see inline_text()),
/// or else a file if is_suite_file(). Otherwise it is the name of a suite or benchmark; if both
/// have the name, it means the suite. Settings replace the values of axes. Error: as load_suite(),
/// cells_of() or expand_cells(); usage for an unknown name, with the closest name and all names.
Result<Plan> make_plan(std::string_view target, const std::vector<AxisSetting>& settings);

/// Returns whether the name is a suite file's: it contains '/' or ends in .yaml, .yml, .log or
/// .txt.
bool is_suite_file(std::string_view target);

/// The cells expanded for this device and team (Benchmark::expand), without duplicates. A cell of
/// an unknown benchmark, such as a command's, stays as it is.
std::vector<Cell> expand_on(const std::vector<Cell>& cells, const Device& device, const Team& team);

/// Checks that no two cells write the same file or folder, of which only the last would remain.
/// Devices and pipes may be shared. Error: usage, naming the path and what tells the cells apart.
Status check_written_once(const std::vector<Cell>& cells);

}  // namespace assay
