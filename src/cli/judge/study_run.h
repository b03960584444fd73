// What `assay campaign STUDY` does: makes the study's plan, or takes that with which its folder was
// begun, runs it as a campaign, and ends with the answer and the HTML report.
#pragma once

#include "cli/command.h"

namespace assay::cli {

/// The first of `arguments.positionals` is the study's name. Returns the exit status.
int run_study(const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
