// assay tune BENCHMARK: environment variables around one of assay's own benchmarks.
#pragma once

#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// The first positional is the benchmark. Returns the exit status.
int tune_benchmark(const Arguments& arguments, Terminal& terminal);

/// `options`, followed by those that apply only if environment variables are tuned.
std::vector<Option> with_variable_options(std::vector<Option> options);
/// Runs `assay tune gemm` or `assay tune conv`: tunes environment variables if an argument names
/// one, otherwise calls `search`, for which the options `own` are. An option that does not apply to
/// the chosen tuning is a usage error. Returns the exit status.
int tune_variables_or(int (*search)(const Arguments&, Terminal&), const std::vector<Option>& own,
                      const Arguments& arguments, Terminal& terminal);

}  // namespace assay::cli
