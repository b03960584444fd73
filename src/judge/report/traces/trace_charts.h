// Charts of a step in profilers' traces: its timeline, its parts on each GPU, and its matrix
// products below the roofs of the GPU.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "judge/report/document.h"
#include "judge/trace/step_timeline.h"

namespace assay::report {

/// What most categories are in the legend, which has no room for all.
constexpr std::string_view other_kernels = "other kernels";
/// Returns the name in the legend for a kernel's category, such as "matrix products" for "gemm".
std::string_view kind_of_work(std::string_view category);

/// A row for each block. All times are whole ns.
Chart timeline_chart(const ShownStep& step, const StepTimeline& timeline);

/// A stacked bar for each GPU, whose parts add up to its step.
Chart breakdown_chart(const ShownStep& step);

/// The costliest matrix products of the first GPU that has some, in all of its trace; else a
/// sentence that says why there is no such chart.
struct RooflineChart {
  std::optional<Chart> chart;
  std::string why_not;
};
RooflineChart roofline_chart(const ShownStep& step);

}  // namespace assay::report
