// A report's chapter on how training scales: the throughput of n ranks over n times that of one,
// and how much of the loss is exposed communication and how much slower passes.
#pragma once

#include <optional>
#include <vector>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// Covers every training on several ranks for which its environment has the same training on one
/// rank. Cells with a fault (ResultSet::fault_of()) are left out. Empty if none is left.
std::optional<Chapter> scaling_chapter(const std::vector<Environment>& environments);

/// Returns how much of their speed alone the most ranks keep together: "4 ranks together reach 83%
/// of 4 times one rank alone (81% to 85%, the 95% interval over 12 runs): ...". Empty without such
/// results.
std::string scaling_answer(const Environment& environment);

}  // namespace assay::report
