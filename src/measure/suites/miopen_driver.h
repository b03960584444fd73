// Turns command lines of AMD's MIOpenDriver into a suite (suite.h) of convolutions. A line is a
// command if it contains the word MIOpenDriver or a path that ends in it, or if its first word
// begins with conv (as convfp16) and its second one is an option. All other lines are ignored.
// Programs that use MIOpen print commands with MIOPEN_ENABLE_LOGGING_CMD=1:
//   MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver convbfp16 -n 64 -c 256 -H 14 ...
#pragma once

#include <string_view>
#include <vector>

#include "compute/vendor/convolution/convolution_problem.h"
#include "core/result.h"
#include "measure/suites/suite.h"

namespace assay {

/// Returns whether any line is a command of MIOpenDriver, for a convolution or anything else.
bool has_driver_commands(std::string_view text);

/// Parses one line and returns a convolution for each direction that the command's option -F
/// requests: a sum of 1 (forward), 2 (data gradient) and 4 (weight gradient), or 0 for all. A
/// transposed convolution becomes the equivalent plain one. The result is empty if the line has no
/// command, or one for another operation. Error: usage, with what is wrong and what is allowed.
Result<std::vector<ConvolutionProblem>> parse_driver_command(std::string_view line);

/// Returns a suite of the benchmark conv with all convolutions in `text`, each once. Error: usage,
/// "FILE:LINE: ..." for a wrong command, or "FILE: ..." if no command is a convolution.
Result<Suite> suite_of_driver_commands(std::string_view text, std::string_view file);

}  // namespace assay
