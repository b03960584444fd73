// This program's own file, to be started again.
#pragma once

#include <string>

#include "core/result.h"

namespace assay {

/// Error: failed, as the system says.
Result<std::string> own_binary();

}  // namespace assay
