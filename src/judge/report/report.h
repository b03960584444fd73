// A report on one environment, or on several that are compared (docs/report.md).
#pragma once

#include <string>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// Makes the first screen, then chapters in the order of a reader's questions: the cells, why, the
/// curves, telemetry, method, every value. `input` has at least one environment.
Document make_document(ReportInput input);

/// Returns one file that opens offline: a page that contains its scripts and all data.
std::string to_html(const Document& document);
/// Returns summary and tables, for terminals and tickets.
std::string to_markdown(const Document& document);
/// Returns only the table of cells, with exact numbers in SI units.
std::string to_csv(const Document& document);

}  // namespace assay::report
