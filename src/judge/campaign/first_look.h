// The first look at a campaign's environments, before anything is timed: each is started once and
// checks the campaign's own cells (`assay run --check`). The campaign ends at once if an
// environment cannot start, or cannot measure a cell that others measure.
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
  double seconds = 0;     ///< process time, which every unit pays for its start
  bool emulated = false;  ///< whether its device is a model
  /// The ids of its cells, and why each is unsupported; an empty reason means supported.
  std::vector<std::pair<std::string, std::string>> cells;
};

/// Prepares every environment of the plan and starts it once, one after the other. `folder` is the
/// absolute path of the campaign's folder. Error: unavailable, "environment NAME: why", for the
/// first that cannot start; usage, if assay refuses the plan's arguments there; interrupted.
Result<std::vector<EnvironmentLook>> look_at_environments(
    const CampaignPlan& plan, const std::filesystem::path& folder,
    const std::function<bool()>& stop_requested);

/// Checks that all environments can measure the same cells. Cells that none of them supports are
/// left out; the result names them and is empty if there are none. Error: unavailable, naming the
/// environment, the cell and the reason, if one lacks a cell that another has, or supports none;
/// usage, if some devices are emulated and others real.
Result<std::string> compare_looks(const std::vector<EnvironmentLook>& looks);

}  // namespace assay
