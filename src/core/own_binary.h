// The path of this program's executable, so that it can start itself again.
#pragma once

#include <string>

#include "core/result.h"

namespace assay {

/// Error: failed, with the system's message.
Result<std::string> own_binary();

}  // namespace assay
