// assay tune BENCHMARK: environment variables around one of assay's own benchmarks.
#pragma once

#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace assay::cli {

/// The first positional is the benchmark. Returns the exit status.
int tune_benchmark(const Arguments& arguments, Terminal& terminal);

/// Whether a word after the first names an environment variable to try: then gemm and conv are
/// benchmarks like any other.
bool tunes_variables(const Arguments& arguments);
/// What only tunings of variables take.
const std::vector<Option>& variable_options();
/// Error: usage, naming the first of `options` that is given: it does not apply to `what`.
Status refuse_options(const Arguments& arguments, const std::vector<Option>& options,
                      std::string_view what);

}  // namespace assay::cli
