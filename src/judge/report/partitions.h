// The conclusions of a partition study in a report: what partitions deliver together.
#pragma once

#include <optional>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// From input.study, which is not trusted: cells that cannot be read are left out. Empty if there
/// is none, or nothing in it.
std::optional<Chapter> partitions_chapter(const ReportInput& input);

}  // namespace assay::report
