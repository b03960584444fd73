// --example NAME of the commands that take a plan.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "core/embedded.h"

namespace assay::cli {

/// The names of the plans, with spaces between them.
std::string names_of(const std::vector<EmbeddedFile>& plans);
/// Prints the plan that --example names (by its file's name without the extension), or an error
/// that lists the names, or says that --json is not possible. Returns the exit status.
int print_example_plan(const std::vector<EmbeddedFile>& plans, const Arguments& arguments,
                       Terminal& terminal);

}  // namespace assay::cli
