// Says what the time of one GPU was spent on, in the whole trace or in one step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/trace/trace_index.h"

namespace assay {

/// Times of a GPU in ns. Work on several streams at once counts once.
struct DeviceTimes {
  std::size_t kernels = 0, copies = 0;  ///< events; `copies` has memsets too
  std::size_t streams = 0;
  std::int64_t kernel_sum = 0;  ///< durations of kernels, summed; exceeds `busy` if they overlap
  std::int64_t span = 0;        ///< from the first start to the last end, without `recorder_pauses`
  std::int64_t busy = 0, idle = 0;
  std::int64_t compute = 0, collective = 0, copy = 0;  ///< while work of this kind ran
  std::int64_t exposed_collective = 0;                 ///< while nothing was computed
  std::int64_t exposed_copy = 0;       ///< while nothing was computed or communicated
  std::int64_t exposed_host_copy = 0;  ///< likewise, while data was copied from or to the host

  std::size_t gaps = 0;
  std::int64_t longest_gap = 0;
  /// Gaps after which work began whose launching call began only after the gap had begun: the host
  /// came late.
  std::size_t host_late_gaps = 0;
  std::int64_t host_late = 0;
  /// Gaps after which work began that had been launched before: it waited for other work, or the
  /// GPU took this long to start it.
  std::int64_t launched_before = 0;
  /// Gaps after which work began whose launching call is not in the trace.
  std::int64_t unknown = 0;
  /// The part of all gaps that lies between the work of one step and that of the next; the numbers
  /// by cause have it, too.
  std::int64_t between_steps = 0;
  /// Gaps between steps in assay's own traces, in which its recorder read times; no other number
  /// counts them.
  std::int64_t recorder_pauses = 0;

  std::size_t same_stream_overlaps = 0;  ///< work that began before its predecessor ended
  std::size_t implausible = 0;           ///< events during which three others began on their stream
  std::size_t from_graphs = 0;           ///< events that a graph launch caused
};

/// Returns the times of the events of one GPU, sorted as TraceIndex has them.
DeviceTimes device_times(const TraceIndex& index, const std::vector<const TraceEvent*>& events);

/// A part of a GPU's time, and what it is called.
struct TimePart {
  std::string_view name;
  std::int64_t time = 0;  ///< ns
};

/// Returns what the span consists of: computing, exposed collectives, exposed copies, and idle time
/// by its cause. The parts add up to the span; those of no time are there, too.
std::vector<TimePart> parts_of(const DeviceTimes& times);

/// One step on one GPU, from its first work to that of the next step. The last step, and each step
/// of assay's own traces, ends with its own last work.
struct DeviceStep {
  std::string name;
  TimeRange window;
  DeviceTimes times;  ///< of the work inside the window; its idle time includes the window's end
};

/// Returns the steps of one GPU, or none if the trace names none or they have no work.
std::vector<DeviceStep> device_steps(const TraceIndex& index,
                                     const std::vector<const TraceEvent*>& events);

/// Returns whether the host came late so often that it limits the GPU: above a tenth of the span.
bool is_launch_bound(const DeviceTimes& times);

}  // namespace assay
