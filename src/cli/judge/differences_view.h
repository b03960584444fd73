// Differences between two environments as people read them. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "judge/compare/fingerprint_diff.h"

namespace assay::cli {

/// A table, likeliest causes first, and the number of differences; `width` 0 means unlimited.
std::string differences_text(const std::vector<Difference>& differences, std::size_t width,
                             const Style& style);

}  // namespace assay::cli
