// How long a device was at its power limit, and what power it drew, while it was tested.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "machine/telemetry/recorder.h"
#include "machine/telemetry/trace.h"
#include "results/record/device_facts.h"

namespace assay::health {

struct PowerSeen {
  double seconds = 0;  ///< how long the device was watched
  /// How long the driver or firmware limited the clock to stay below the power limit; empty if
  /// neither reported it.
  std::optional<double> limited_seconds;
  double unknown_seconds = 0;                   ///< how much of `seconds` had no report of that
  std::optional<double> mean_watts, max_watts;  ///< of the time whose power was read; empty: none
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
  /// Adds a trace's time and what it says of its first accelerator.
  void add(const TelemetryTrace& trace);
  /// Leaves out the time since the last call.
  void skip() { begin_ = TelemetryRecorder::Clock::now(); }
  const PowerSeen& seen() const { return seen_; }

 private:
  const std::unique_ptr<TelemetryRecorder> recorder_;  // null: no telemetry
  TelemetryRecorder::Clock::time_point begin_ = TelemetryRecorder::Clock::now();
  PowerSeen seen_;
  double joules_ = 0, metered_seconds_ = 0;  // of the time whose power was read
};

}  // namespace assay::health
