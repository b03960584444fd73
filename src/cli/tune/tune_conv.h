// assay tune conv: lets libraries search for the fastest convolutions, and proves what that brings.
#pragma once

#include <vector>

#include "cli/command.h"
#include "cli/terminal.h"

namespace assay::cli {

/// Whether the arguments of `assay tune` ask for this: "conv", and no environment variable to try.
bool is_tune_conv(const Arguments& arguments);
/// Returns the exit status.
int tune_conv(const Arguments& arguments, Terminal& terminal);

/// Those of its options that `assay tune` has for nothing else.
std::vector<Option> tune_conv_options();

}  // namespace assay::cli
