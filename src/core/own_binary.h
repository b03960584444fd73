// Says how to start this program again: the path of its executable, and the command that a user
// types.
#pragma once

#include <string>

#include "core/result.h"

namespace assay {

/// Returns the path of this process's executable. Error: failed, with the system's message.
Result<std::string> own_binary();

/// Returns the command with which the user started this program, to be quoted in advice: the value
/// of the environment variable ASSAY_COMMAND, which ./run sets, or "assay".
std::string own_command();

}  // namespace assay
