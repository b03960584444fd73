// A report's chapter on a partition study: the throughput of partitions together.
#pragma once

#include <optional>
#include <string>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// Reads input.study, which is not trusted: cells that cannot be read are left out. Empty if there
/// is no study or no cell is left.
std::optional<Chapter> partitions_chapter(const ReportInput& input);

/// Returns what the partitions cost each other in one sentence: the worst share of its own speed
/// that a partition keeps, and their sum beside the whole device. Without a study it is "Nothing
/// can be said."
std::string study_answer(const ReportInput& input);

}  // namespace assay::report
