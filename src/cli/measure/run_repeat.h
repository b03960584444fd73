// `assay run --repeat N`: starts the same `assay run` N times, one process after the other, and
// shows the mean, deviation, least and largest value of each cell over these runs.
#pragma once

#include <cstdint>

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Runs all `times` processes even if one fails, and returns the first nonzero exit status; 0 if
/// there is none. An interrupt ends the repetition, and so does a process that cannot be started;
/// each has its own exit status.
int repeat_run(const Arguments& arguments, std::uint64_t times, Terminal& terminal);

}  // namespace assay::cli
