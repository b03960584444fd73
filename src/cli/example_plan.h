// --example NAME of the commands that take a plan.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "core/embedded.h"

namespace assay::cli {

/// Prints the plan `name`, which is its file's name without the ending, and returns the exit
/// status; if there is none, says which there are.
int print_example_plan(const std::vector<EmbeddedFile>& plans, const std::string& name,
                       Terminal& terminal);

}  // namespace assay::cli
