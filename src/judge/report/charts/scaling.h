// A report's chapter on scaling studies: what share of so many times one rank several ranks reach,
// and what the rest is lost to.
#pragma once

#include <optional>
#include <vector>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// Of every training on several ranks beside which its environment has the same on one rank. Cells
/// that are void are left out. Empty if none is left.
std::optional<Chapter> scaling_chapter(const std::vector<Environment>& environments);

}  // namespace assay::report
