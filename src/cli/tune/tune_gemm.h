// assay tune gemm: finds the fastest solutions of matrix products.
#pragma once

#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Whether the arguments of `assay tune` ask for this: "gemm", and no environment variable to try.
bool is_tune_gemm(const Arguments& arguments);
/// Returns the exit status.
int tune_gemm(const Arguments& arguments, Terminal& terminal);

/// Those of its options that `assay tune` has for nothing else.
std::vector<Option> tune_gemm_options();

}  // namespace assay::cli
