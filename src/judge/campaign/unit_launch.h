// How a campaign starts assay in one of its environments.
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

/// assay's arguments that measure the unit of `environment` in `pair`, from 0. `barrier`: empty, or
/// the value of `assay run --barrier`. `again`: as for commands_of_unit().
std::vector<std::string> unit_arguments(const CampaignPlan& plan,
                                        const PlannedEnvironment& environment, std::size_t pair,
                                        const std::string& barrier, bool again = false);
/// assay's arguments that check the plan's cells in `environment` and measure nothing.
std::vector<std::string> look_arguments(const CampaignPlan& plan,
                                        const PlannedEnvironment& environment);

/// `member`: the store and the plan's environment. `folder`: the campaign's.
LaunchContext launch_context(const CampaignPlan& plan, const Member& member,
                             const std::filesystem::path& folder);

/// Writes the files that the launch needs. Error: that of the file.
Status write_files(const Launch& launch);

/// What the caller of run_launch() decides.
struct LaunchCare {
  double timeout_seconds = 0;
  std::function<bool()> stop_requested;
  std::function<void(std::string_view line)> line;  ///< gets each line of standard output
};
/// Runs the launch to its end, within its limits and with a secret for its ranks; cleans up behind
/// one that was killed. Error: unavailable, if it cannot be started or its limits cannot be
/// applied.
Result<ProgramEnd> run_launch(const Launch& launch, const LaunchContext& context,
                              const LaunchCare& care);

/// Removes what a killed process of this launch may have left behind.
void clean_up(const Launch& launch);

/// What a program that failed said of the cause: assay its own error, a container engine a first
/// line with the cause and more with advice, others their last words. Empty: it said nothing.
std::string cause_in(const ProgramEnd& end);

}  // namespace assay
