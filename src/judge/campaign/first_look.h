// The first look at a campaign's environments, before anything is timed: each is started once and
// checks the campaign's own cells (`assay run --check`). What cannot start, or cannot measure what
// the others measure, ends the campaign at once: nothing is measured against nothing.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "judge/campaign/plan.h"

namespace assay {

/// What an environment says of the plan's cells.
struct EnvironmentLook {
  std::string environment;
  double seconds = 0;     ///< that the process took: what every unit pays for its start
  bool emulated = false;  ///< whether its device is a model
  /// The ids of its cells, and why each is unsupported there; empty: it is not.
  std::vector<std::pair<std::string, std::string>> cells;
};

/// Prepares every environment of the plan and starts it once, one after the other. `folder`: the
/// campaign's, absolute. Error: unavailable, "environment NAME: why", for the first that cannot
/// start; usage, if assay refuses the plan's words there; interrupted.
Result<std::vector<EnvironmentLook>> look_at_environments(
    const CampaignPlan& plan, const std::filesystem::path& folder,
    const std::function<bool()>& stop_requested);

/// Whether all environments can measure the same cells. What none of them supports is left out:
/// the result says so, empty: there is no such cell. Error: unavailable, naming the environment,
/// the cell and the reason, if one lacks a cell that another has or supports none; usage, if some
/// are of an emulated device and others of a real one.
Result<std::string> compare_looks(const std::vector<EnvironmentLook>& looks);

}  // namespace assay
