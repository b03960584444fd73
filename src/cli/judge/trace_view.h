// Reports on traces as text and as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "core/json_fwd.h"
#include "judge/trace/trace_report.h"

namespace assay::cli {

/// `top` limits the rows of each table; `width` 0 means unlimited.
std::string trace_text(const TraceReport& report, std::size_t top, std::size_t width,
                       const Style& style);
/// Returns what `advice` advises; empty if it advises nothing.
std::string advice_text(const std::vector<TraceAdvice>& advice, std::size_t width,
                        const Style& style);
std::string ranks_text(const RankComparison& ranks, std::size_t width, const Style& style);

Json trace_json(const TraceReport& report);
Json advice_json(const std::vector<TraceAdvice>& advice);
Json ranks_json(const RankComparison& ranks);

}  // namespace assay::cli
