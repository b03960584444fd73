// Says how a campaign starts assay in one of its environments.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/program.h"
#include "core/result.h"
#include "judge/campaign/plan.h"
#include "judge/campaign/schedule.h"
#include "ranks/environments/environment.h"

namespace assay {

/// Returns assay's arguments that measure the unit of `environment` in `pair`, from 0. `barrier` is
/// empty, or the value of `assay run --barrier`. `again` is as in commands_of_unit().
std::vector<std::string> unit_arguments(const CampaignPlan& plan,
                                        const PlannedEnvironment& environment, std::size_t pair,
                                        const std::string& barrier, bool again = false);
/// Returns assay's arguments that check the plan's cells in `environment` without measuring.
std::vector<std::string> look_arguments(const CampaignPlan& plan,
                                        const PlannedEnvironment& environment);

/// `member` names the plan's environment and its store. `folder` is the absolute path of the
/// campaign's folder.
LaunchContext launch_context(const CampaignPlan& plan, const Member& member,
                             const std::filesystem::path& folder);

/// Writes the files that the launch needs. Error: as write_file() (core/write_file.h).
Status write_files(const Launch& launch);

/// Decisions that the caller of run_launch() makes.
struct LaunchCare {
  double timeout_seconds = 0;  ///< 0: none
  /// Both functions are called on the thread of run_launch(); `line` gets each line of standard
  /// output.
  std::function<bool()> stop_requested;
  std::function<void(std::string_view line)> line;
};
/// Runs the launch to its end, within its limits and with a secret for its ranks, if it needs one.
/// Cleans up if it was stopped, timed out or was killed by a signal. Error: unavailable, if it
/// cannot be started or its limits cannot be applied.
Result<ProgramEnd> run_launch(const Launch& launch, const LaunchContext& context,
                              const LaunchCare& care);

/// Removes what a killed process of this launch may have left behind; waits a minute at most.
void clean_up(const Launch& launch);

/// Returns the cause that a failed program printed: assay's own error, the first line of a
/// container engine (which is followed by advice), otherwise the last line. Empty if it printed
/// nothing.
std::string cause_in(const ProgramEnd& end);

}  // namespace assay
