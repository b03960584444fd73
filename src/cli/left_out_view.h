// Results that do not count, as people and programs read them. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "judge/compare/evidence.h"

namespace assay::cli {

/// A table under a line that counts them; empty if there are none. `width` 0 means any.
std::string left_out_text(const std::vector<LeftOut>& left_out, std::size_t width,
                          const Style& style);
/// A list of {"run", "cell", "metric", "reason"}.
Json to_json(const std::vector<LeftOut>& left_out);

}  // namespace assay::cli
