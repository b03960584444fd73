// assay tune serve: tunes the parameters of an LLM server.
#pragma once

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// `assay tune` whose first positional is "serve". Returns the exit status.
int tune_serve(const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
