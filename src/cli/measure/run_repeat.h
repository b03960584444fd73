// `assay run --repeat N`: the same run N times, each in its own process, and the spread over the
// runs.
#pragma once

#include <cstdint>

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Returns the exit status: the first nonzero status of a run, after all have run.
int repeat_run(const Arguments& arguments, std::uint64_t times, Terminal& terminal);

}  // namespace assay::cli
