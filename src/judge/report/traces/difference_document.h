// The difference between the steps of two sides' traces, as a document: a waterfall by category and
// a table of kernels.
#pragma once

#include <string>

#include "judge/report/document.h"
#include "judge/trace/trace_difference.h"

namespace assay::report {

/// From A's step, in whole ns, by one row for each category to B's step.
Chart waterfall_chart(const TraceDifference& difference);

/// `a` and `b` are what the sides are called; `time` is that of the page.
Document difference_document(const TraceDifference& difference, const std::string& a,
                             const std::string& b, const std::string& time);

}  // namespace assay::report
