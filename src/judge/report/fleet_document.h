// A fleet as a document: nodes by cells, each relative to the fleet's median, as a table and a heat
// map, with the outliers named.
#pragma once

#include <string>

#include "judge/compare/fleet.h"
#include "judge/report/document.h"

namespace assay::report {

/// A row for each node and a column for each cell and metric, whose numbers are changes of time
/// against the fleet's median. Columns in which no node is beyond the margin are `detail`.
Table fleet_table(const Fleet& fleet);

/// `headline` is the result in one sentence; `time` is that of the report.
Document fleet_document(const Fleet& fleet, const std::string& headline, const std::string& time);

}  // namespace assay::report
