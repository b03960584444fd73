// assay tune command: finds the best setting of any program's parameters and proves it.
#pragma once

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Returns the exit status.
int tune_program(const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
