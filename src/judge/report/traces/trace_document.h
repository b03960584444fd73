// What profilers' traces say, as a document: where the time of one step goes, its timeline, its
// costliest operations, and what to do.
#pragma once

#include <string>
#include <vector>

#include "judge/report/document.h"
#include "judge/trace/shown_step.h"

namespace assay::report {

/// Traces of the ranks of one job, and what was found in them. The caller owns everything.
struct ReadTraces {
  const std::vector<TraceReport>& reports;
  const RankComparison& ranks;
  const std::vector<TraceAdvice>& rank_advice;
  const ShownStep& step;
};

/// `time` is that of the page.
Document trace_document(const ReadTraces& read, const std::string& time);

}  // namespace assay::report
