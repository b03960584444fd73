// Command lines of AMD's MIOpenDriver as a suite of convolutions, alone or within other lines, as
// MIOPEN_ENABLE_LOGGING_CMD=1 makes any program print them:
//   MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver convbfp16 -n 64 -c 256 -H 14 ...
#pragma once

#include <string_view>
#include <vector>

#include "compute/vendor/convolution/convolution_problem.h"
#include "core/result.h"
#include "measure/suites/suite.h"

namespace assay {

/// Whether any line is such a command, a convolution or not.
bool has_driver_commands(std::string_view text);

/// The convolutions of one command: one for each direction that it asks for. Empty: the line has no
/// convolution. Error: usage, what is wrong and what is allowed.
Result<std::vector<ConvolutionProblem>> parse_driver_command(std::string_view line);

/// A suite of the benchmark conv with all of them, each once. Error: usage, "file:line: ...", also
/// if there is no convolution.
Result<Suite> parse_driver_commands(std::string_view text, std::string_view file);

}  // namespace assay
