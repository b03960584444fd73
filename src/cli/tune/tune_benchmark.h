// assay tune BENCHMARK: environment variables around one of assay's own benchmarks.
#pragma once

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// The first positional is the benchmark. Returns the exit status.
int tune_benchmark(const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
