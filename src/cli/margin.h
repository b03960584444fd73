// The option --margin, which several commands have.
#pragma once

#include <string>

#include "core/result.h"

namespace assay::cli {

/// "2%" or "0.02" to 0.02. Error: usage, naming the option and what is allowed.
Result<double> parse_margin(const std::string& text);

}  // namespace assay::cli
