// Occupancy reports as text and as JSON. Pure functions.
#pragma once

#include <string>

#include "advise/occupancy/report.h"
#include "cli/terminal.h"
#include "core/json_fwd.h"

namespace assay::cli {

std::string occupancy_text(const occupancy::Report& report, std::size_t width, const Style& style);
Json occupancy_json(const occupancy::Report& report);

}  // namespace assay::cli
