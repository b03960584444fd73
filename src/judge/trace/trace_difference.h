// Explains why the steps of one program take longer than those of another: by category, then kernel
// by kernel. Every moment of a step belongs to one kernel, copy or idle time, so the parts add up
// to the step on both sides.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/compare/family.h"
#include "judge/trace/trace_index.h"

namespace assay {

/// A step of one trace, on average over its steps and GPUs. Times are in ns.
struct StepParts {
  double step = 0;
  std::size_t steps = 0;  ///< that were averaged; 0: the trace names none, and it counts as one
  /// "gemm", "collective", "copy", "idle", ...; their sum is `step`.
  std::map<std::string, double> categories;
  std::map<std::string, double> kernels;           ///< by name, without copies and idle time
  std::map<std::string, std::string> category_of;  ///< of kernels
  std::map<std::string, double> counts;            ///< of kernels, in a step
};

/// Returns the mean over the traces, which are the ranks of one job. GPUs without steps count only
/// if none has steps.
StepParts step_parts(const std::vector<const TraceIndex*>& ranks);

/// One category, or one kernel, on both sides: medians over the traces.
struct PartDifference {
  std::string name, category;
  /// Name of B's kernel, if it differs but the category and the counts tell that it is the same.
  std::string other_name;
  double a = 0, b = 0;  ///< ns a step
  double count_a = 0, count_b = 0;
  /// b - a over A's step: the shares of all categories add up to 0.4 if the step takes 1.4 times as
  /// long. 0 for TraceDifference::step itself.
  double share = 0;
  /// Empty for kernels, with too few traces, and if a trace lacks the part.
  std::optional<JudgedMember> judged;
};

struct TraceDifference {
  std::size_t traces_a = 0, traces_b = 0;
  PartDifference step;
  double ratio = 0;                        ///< B's step over A's; 0: unknown
  std::vector<PartDifference> categories;  ///< largest difference first
  std::vector<PartDifference> kernels;     ///< likewise
  std::vector<std::string> notes;
};

/// Each side has at least one trace. With at least `least_units` (statistics/paired.h) on each
/// side, steps and categories are judged together.
TraceDifference compare_traces(const std::vector<StepParts>& a, const std::vector<StepParts>& b,
                               const VerdictRule& rule);

}  // namespace assay
