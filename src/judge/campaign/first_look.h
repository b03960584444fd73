// Checks a campaign's environments before anything is timed, which is called its first look. Each
// environment is started once and reports which of the campaign's cells it supports (`assay run
// --check`). The campaign ends at once if an environment cannot start, or cannot measure a cell
// that others measure.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "judge/campaign/plan.h"

namespace assay {

/// An environment's report about the plan's cells.
struct EnvironmentLook {
  std::string environment;
  double seconds = 0;     ///< wall-clock time of the check; each unit needs as much to start
  bool emulated = false;  ///< whether a device is emulated, so that times come from a model of it
  /// The ids of its cells, and why each is unsupported; an empty reason means supported.
  std::vector<std::pair<std::string, std::string>> cells;
};

/// Calls prepare() of each environment (ranks/environments/environment.h) and starts it once, one
/// environment after the other. `folder` is the absolute path of the campaign's folder. Error:
/// unavailable, "environment NAME: why", for the first one that cannot be prepared or started,
/// reports no cell or takes longer than a unit may; usage, if assay refuses the plan's arguments
/// there; interrupted; as Environment::launch(), Environment::prepare() and write_files()
/// (unit_launch.h).
Result<std::vector<EnvironmentLook>> look_at_environments(
    const CampaignPlan& plan, const std::filesystem::path& folder,
    const std::function<bool()>& stop_requested);

/// Checks that all environments support the same cells. The result is a line for the screen: the
/// number of cells that no environment supports, and the first of them with the reason. It is empty
/// if there are none. Error: unavailable, naming the environment, the cell and the reason, if an
/// environment lacks a cell that another has, or supports no cell; usage, if some devices are
/// emulated and others real.
Result<std::string> compare_looks(const std::vector<EnvironmentLook>& looks);

}  // namespace assay
