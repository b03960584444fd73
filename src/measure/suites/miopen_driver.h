// Turns command lines of AMD's MIOpenDriver into a suite of convolutions. They may stand alone or
// among other lines, as any program prints them with MIOPEN_ENABLE_LOGGING_CMD=1:
//   MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver convbfp16 -n 64 -c 256 -H 14 ...
#pragma once

#include <string_view>
#include <vector>

#include "compute/vendor/convolution/convolution_problem.h"
#include "core/result.h"
#include "measure/suites/suite.h"

namespace assay {

/// Whether any line is a command of MIOpenDriver, for a convolution or anything else.
bool has_driver_commands(std::string_view text);

/// Parses one command and returns a convolution for each direction that it requests. Empty: the
/// line has no convolution. Error: usage, with what is wrong and what is allowed.
Result<std::vector<ConvolutionProblem>> parse_driver_command(std::string_view line);

/// A suite of the benchmark conv with all convolutions in `text`, each once. Error: usage,
/// "file:line: ...", also if there is no convolution.
Result<Suite> parse_driver_commands(std::string_view text, std::string_view file);

}  // namespace assay
