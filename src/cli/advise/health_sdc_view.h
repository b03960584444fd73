// Shows what a test for silent data corruption found.
#pragma once

#include <string>

#include "advise/health/sdc.h"
#include "cli/terminal.h"

namespace assay::cli {

/// The verdict, the units, what would have been seen, the differences that `outcome` holds, and how
/// many more there were.
std::string sdc_text(const health::SdcOutcome& outcome, std::size_t width, const Style& style);
/// What differed where, in a few lines.
std::string difference_text(const health::SdcDifference& difference, const Style& style);

}  // namespace assay::cli
