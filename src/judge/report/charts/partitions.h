// A report's chapter on a partition study: what partitions deliver together.
#pragma once

#include <optional>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// From input.study, which is not trusted: cells that cannot be read are left out. Empty if there
/// is no study or no cell is left.
std::optional<Chapter> partitions_chapter(const ReportInput& input);

}  // namespace assay::report
