// The time of each operation inside a step, from events between them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "model/operations/operation_cost.h"

namespace assay {

class OperationClock {
 public:
  /// `replayed`: steps are captured into a graph, whose replays take the times; otherwise they are
  /// launched while the clock runs.
  OperationClock(Device& device, bool replayed) : device_(device), replayed_(replayed) {}

  /// Marks the beginning of the step, or the end of `name`.
  Status mark(Stream& stream, Phase phase, std::string_view name);

  struct Time {
    Phase phase = Phase::forward;
    std::string name;
    double seconds = 0;  ///< of all its runs in the step
  };
  /// By phase and name in the order of their first run. The stream must be idle.
  Result<std::vector<Time>> times() const;

 private:
  struct Mark {
    Phase phase;
    std::string name;
    std::unique_ptr<Event> event;
  };
  Device& device_;
  bool replayed_;
  std::vector<Mark> marks_;
};

}  // namespace assay
