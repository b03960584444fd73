// Records a few warm steps of a cell as a timeline, and what recording them costs.
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

struct TraceRequest {
  Cell cell;
  std::size_t steps = 3;
  std::uint64_t seed = 1;
  double telemetry_interval = 0;  ///< seconds; 0: none
};

struct RecordedTrace {
  Timeline timeline;  ///< of this rank
  /// Seconds of each step in the same run, first without a recorder and then with it.
  std::vector<double> without, with;
};

/// Prepares the cell twice, as `run` would: once to time its steps, once to record them. All ranks
/// of the team call it together. The results of the steps are not verified. Error: as run_cells().
Result<RecordedTrace> record_trace(const TraceRequest& request, Device& device, Team& team,
                                   const std::function<bool()>& stop_requested);

}  // namespace assay
