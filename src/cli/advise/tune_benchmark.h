// assay tune BENCHMARK: environment variables around one of assay's own benchmarks.
#pragma once

#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// The first positional is the benchmark. Returns the exit status.
int tune_benchmark(const Arguments& arguments, Terminal& terminal);

/// These options, and behind them what only tunings of environment variables take.
std::vector<Option> with_variable_options(std::vector<Option> options);
/// Of gemm and conv: tunes environment variables if a word names one, and else does `search`, which
/// alone takes the options `own`. Error: usage, of an option of the other one. Returns the exit
/// status.
int tune_variables_or(int (*search)(const Arguments&, Terminal&), const std::vector<Option>& own,
                      const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
