// What a vendor's tracing library offers a TimelineRecorder: the times of every kernel, copy and
// fill of the device, also of those that libraries and graphs launch.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "results/timeline/timeline.h"

namespace assay {

/// A kernel, a copy or a fill that the device executed.
struct DeviceActivity {
  TraceEventKind kind = TraceEventKind::kernel;
  std::string name;                              ///< of a kernel, demangled; else empty
  std::int64_t begin = 0, end = 0;               ///< ns of the host's monotonic clock
  std::uint64_t bytes = 0;                       ///< of a copy or a fill
  std::array<std::uint32_t, 3> grid{}, block{};  ///< of a kernel
  std::uint32_t stream = 0;                      ///< as the library numbers them
  std::uint64_t call_tag = 0;  ///< the tag that the launching call carried; 0: none
  std::uint64_t node_tag = 0;  ///< in a graph: the tag during the capture of its node; 0: none
};

/// Used by the thread that drives the device. The library may call it from threads of its own.
class ActivityTracer {
 public:
  virtual ~ActivityTracer() = default;

  virtual std::string name() const = 0;  ///< "CUPTI 13.0"
  /// From here on, work that this thread queues or captures carries the tag; 0: none.
  virtual Status tag(std::uint64_t number) = 0;
  /// Forgets what the device did so far, which must be idle.
  virtual Status start() = 0;
  /// Returns what the device did since start(), sorted by begin. The device must be idle. Error:
  /// failed if the library lost a part of it.
  virtual Result<std::vector<DeviceActivity>> stop() = 0;
};

}  // namespace assay
