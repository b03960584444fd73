// The report on a campaign, for commands that end with it.
#pragma once

#include <string>

#include "core/result.h"
#include "judge/report/document.h"

namespace assay::cli {

/// Error: as for `assay report FOLDER`.
Result<report::Document> document_of_campaign(const std::string& folder);

}  // namespace assay::cli
