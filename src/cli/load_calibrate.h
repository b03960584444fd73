// assay load --calibrate: what this machine can load before it becomes the limit itself.
#pragma once

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Loads a simulated server, whose times are exact, with more and more streams until the client's
/// errors are too large. Returns the exit status.
int calibrate_load(const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
