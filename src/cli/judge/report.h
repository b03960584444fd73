// The report on a campaign, for commands that end with it.
#pragma once

#include <string>

#include "core/result.h"
#include "judge/report/document.h"

namespace assay::cli {

/// Returns the report on the campaign in `folder`, as `assay report FOLDER` shows it. Error: as
/// pairs_of_operands() (cli/compare_operands.h) and load_operands() (judge/compare/operands.h);
/// usage, if there are too many environments.
Result<report::Document> document_of_campaign(const std::string& folder);

}  // namespace assay::cli
