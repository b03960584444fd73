// --example NAME of the commands that take a plan.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "core/embedded.h"

namespace assay::cli {

/// Prints the plan `name` (its file's name without the extension), or an error that lists the
/// names. Returns the exit status.
int print_example_plan(const std::vector<EmbeddedFile>& plans, const std::string& name,
                       Terminal& terminal);

}  // namespace assay::cli
