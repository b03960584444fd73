// `assay run --repeat N`: the same run N times, each in a process of its own, and how the runs
// differ.
#pragma once

#include <cstdint>

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Returns the exit status: the first one of a run that was not 0, after all have run.
int repeat_run(const Arguments& arguments, std::uint64_t times, Terminal& terminal);

}  // namespace assay::cli
