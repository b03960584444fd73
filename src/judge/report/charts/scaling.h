// A report's chapter on scaling studies: the efficiency of several ranks relative to one rank, and
// where the rest is lost.
#pragma once

#include <optional>
#include <vector>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// Covers every training on several ranks for which its environment has the same training on one
/// rank. Void cells are left out. Empty if none is left.
std::optional<Chapter> scaling_chapter(const std::vector<Environment>& environments);

}  // namespace assay::report
