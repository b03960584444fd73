// assay load --calibrate: how much load this machine can generate before it becomes the limit.
#pragma once

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Loads up to four simulated servers, whose times are known exactly, with more and more streams
/// until the client's errors are too large or the servers too slow, or with the numbers of streams
/// that --max-concurrency names. Returns the exit status.
int calibrate_load(const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
