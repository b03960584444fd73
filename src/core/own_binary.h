// Says how to start this program again: the path of its executable, and the command that a user
// types.
#pragma once

#include <string>

#include "core/result.h"

namespace assay {

/// Error: failed, with the system's message.
Result<std::string> own_binary();

/// Returns the command with which the user started it, for advice: the environment variable
/// ASSAY_COMMAND, which ./run sets, or "assay".
std::string own_command();

}  // namespace assay
