// How long a device was at its power limit, and what power it drew, while it was tested.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "machine/telemetry/recorder.h"
#include "results/record/device_facts.h"

namespace assay::health {

struct PowerSeen {
  double seconds = 0;  ///< how long the device was watched
  /// How long the driver or firmware limited the clock to stay below the power limit; empty if
  /// neither reports it.
  std::optional<double> limited_seconds;
  std::optional<double> mean_watts, max_watts;
};

/// Returns the share of a trace's time in which its first accelerator was at its power limit; empty
/// if no channel reports it.
std::optional<double> power_limited_share(const TelemetryTrace& trace);

/// Reads the telemetry of a device in a thread of its own, from now on. CPUs have none.
class PowerWatch {
 public:
  explicit PowerWatch(const DeviceFacts& facts);
  /// Adds the time since the last call, or since the beginning. Call it at least every half an
  /// hour, because older readings are dropped.
  void note();
  /// Leaves out the time since the last call.
  void skip() { begin_ = TelemetryRecorder::Clock::now(); }
  const PowerSeen& seen() const { return seen_; }

 private:
  const std::unique_ptr<TelemetryRecorder> recorder_;  // null: no telemetry
  TelemetryRecorder::Clock::time_point begin_ = TelemetryRecorder::Clock::now();
  PowerSeen seen_;
};

}  // namespace assay::health
