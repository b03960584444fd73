// Records a few warm steps of a cell as a timeline, and the cost of recording them. A step is the
// part of one sample that a run times. It has at most 20 launches of the work, even if a run's
// samples have more.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "ranks/team/team.h"
#include "results/record/cell.h"
#include "results/timeline/timeline.h"

namespace assay {

/// Where the times of operations come from.
enum class TraceSource {
  best,    ///< cupti where the device and the machine have it, else events
  events,  ///< events of the device around each operation, on every backend
  cupti,   ///< CUDA's tracing library, kernel by kernel; NVIDIA GPUs only
};

struct TraceRequest {
  Cell cell;  ///< expanded for the device and the team
  TraceSource source = TraceSource::best;
  /// The number of steps to record, after three that warm up; at least 1.
  std::size_t steps = 3;
  std::uint64_t seed = 1;         ///< see PrepareContext::seed (measure/grid/benchmark.h)
  double telemetry_interval = 0;  ///< seconds between sensor readings; 0: no telemetry
};

struct RecordedTrace {
  Timeline timeline;  ///< of this rank
  /// Seconds of each step on this rank, by the case's TimeSource (results/record/work.h): first
  /// without a recorder, at least five steps, then with it, TraceRequest::steps steps.
  std::vector<double> unrecorded, recorded;
  /// Seconds of each recorded step from its first operation on the device to the end of its last:
  /// without the host's time before the first, which recording may lengthen. 0 without operations.
  std::vector<double> on_device;
};

/// Prepares the cell twice, as `run` would: once to time its steps, once to record them. All ranks
/// of the team call it together. The results of the steps are not verified. `stop_requested` is
/// asked before each step; it must not be empty. Error: usage for a cell of no benchmark;
/// unsupported if the device cannot measure the cell or be traced by the source; those of
/// open_cupti_tracer() (compute/vendor/tracing/cupti_tracer.h) for TraceSource::cupti; interrupted
/// if `stop_requested` returned true; as Team::exchange(); otherwise that of the call that failed.
Result<RecordedTrace> record_trace(const TraceRequest& request, Device& device, Team& team,
                                   const std::function<bool()>& stop_requested);

}  // namespace assay
