// assay tune BENCHMARK: which values of environment variables make a benchmark of assay fastest.
#pragma once

#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// The first positional is the benchmark. Returns the exit status.
int tune_benchmark(const Arguments& arguments, Terminal& terminal);

/// `options`, followed by those that apply only if environment variables are tuned.
std::vector<Option> with_variable_options(std::vector<Option> options);
/// Runs `assay tune gemm` or `assay tune conv`: if an argument is NAME=VALUES with a name in
/// capitals, it tunes environment variables, otherwise it calls `search`. `own` are the options
/// that only `search` takes. An option that does not apply to the chosen tuning is a usage error.
/// Returns the exit status.
int tune_variables_or(int (*search)(const Arguments&, Terminal&), const std::vector<Option>& own,
                      const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
