// Runs a campaign for a command, whose plan comes from a file or from arguments.
#pragma once

#include <string>

#include "cli/command.h"
#include "judge/campaign/plan.h"

namespace assay::cli {

/// Measures `plan` into `folder`, or prints its schedule, as --dry-run, --json and --pairs say.
/// Returns the exit status.
int run_campaign_plan(CampaignPlan plan, const std::string& folder, const Arguments& arguments,
                      Terminal& terminal);

}  // namespace assay::cli
