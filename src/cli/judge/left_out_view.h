// Results that were left out, as text and as JSON. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "judge/compare/admissible_records.h"

namespace assay::cli {

/// A line with their number and a table; empty if there are none. `width` 0 means unlimited.
std::string left_out_text(const std::vector<LeftOut>& left_out, std::size_t width,
                          const Style& style);
/// A list of {"run", "cell", "metric", "reason"}.
Json to_json(const std::vector<LeftOut>& left_out);

}  // namespace assay::cli
