// Chooses the step that a page shows: one of the first GPU, and the one that belongs to it on every
// other GPU. Traces without work of a GPU have steps of their hosts instead.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "judge/trace/trace_report.h"

namespace assay {

/// A step in one trace, or all that was recorded.
struct StepOfTrace {
  const TraceIndex* index = nullptr;
  std::size_t trace = 0;  ///< the trace's position in `indices`
  TimeRange window;       ///< on the trace's clock
};

/// A step on one GPU.
struct StepOfGpu : StepOfTrace {
  const DeviceReport* device = nullptr;  ///< of the whole trace
  DeviceTimes times;                     ///< of the step
};

struct ShownStep {
  std::string name;                 ///< empty: no step is named, and everything is shown
  std::size_t number = 0, all = 0;  ///< its position on the first GPU, from 1, and how many it has
  std::vector<StepOfGpu> gpus;      ///< in the order of the traces
  std::vector<StepOfTrace> hosts;   ///< of the traces, if none of them has work of a GPU
  std::size_t without = 0;          ///< GPUs, or else hosts, that do not have the step
};

/// `reports` are those of `indices`, which must outlive the result. `wanted` is the step's name or
/// its number from 1; empty: the median of the first GPU's, or else host's, steps by time. Error:
/// usage, naming the steps, if there is no such step.
Result<ShownStep> choose_step(const std::vector<TraceIndex>& indices,
                              const std::vector<TraceReport>& reports, const std::string& wanted);

/// Returns the work of the GPU that begins in the step.
std::vector<const TraceEvent*> work_of(const StepOfGpu& step);

}  // namespace assay
