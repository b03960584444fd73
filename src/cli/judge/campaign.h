// Runs a campaign for a command, whose plan comes from a file or from arguments.
#pragma once

#include <string>

#include "cli/command.h"
#include "judge/campaign/plan.h"

namespace assay::cli {

/// Measures `plan` into `folder`, or with --dry-run prints its schedule. `arguments` are those of
/// `assay campaign`. Returns the exit status; errors are printed.
int run_campaign_plan(CampaignPlan plan, const std::string& folder, const Arguments& arguments,
                      Terminal& terminal);

}  // namespace assay::cli
