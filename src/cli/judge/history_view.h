// What `assay history` shows. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "judge/history/trend.h"

namespace assay::cli {

/// A table of series for each machine and device, then every change with the changes in the
/// environment; `all`: every difference, not only the likeliest. `width` 0 means unlimited.
std::string history_text(const std::vector<Trend>& trends, const ChangePointRule& rule, bool all,
                         std::size_t width, const Style& style);
Json history_json(const std::vector<Trend>& trends, const ChangePointRule& rule);

}  // namespace assay::cli
