// A report on one environment, or on several compared with the first (docs/report.md).
#pragma once

#include <string>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// Chapters in the order in which a reader asks: the verdict, the cells, why, the curves,
/// telemetry, method, every value. `input` has at least one environment.
Document make_document(const ReportInput& input);

/// One file that opens offline: a page with its charts' program and all data in it.
std::string to_html(const Document& document);
/// For terminals and tickets: summary and tables.
std::string to_markdown(const Document& document);
/// The table of cells alone, numbers exact and in SI units.
std::string to_csv(const Document& document);

}  // namespace assay::report
