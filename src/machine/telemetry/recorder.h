// Samples telemetry in a thread of its own beside a measurement.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "machine/telemetry/source.h"
#include "machine/telemetry/trace.h"

namespace assay {

class TelemetryRecorder {
 public:
  using Clock = std::chrono::steady_clock;

  /// Reads the sources every `interval` seconds, more than 0, from now until it is destroyed.
  TelemetryRecorder(TelemetrySources sources, double interval);
  /// Leaves a source that hangs behind, with its thread, after two seconds.
  ~TelemetryRecorder();
  TelemetryRecorder(const TelemetryRecorder&) = delete;
  TelemetryRecorder& operator=(const TelemetryRecorder&) = delete;

  /// The ticks within [begin, end] with those around it that integrals need. Asks for a tick now
  /// and waits for it, so call it outside whatever is being timed.
  TelemetryTrace slice(Clock::time_point begin, Clock::time_point end);

 private:
  struct State;

  // The thread owns it too: if a source hangs, it outlives the recorder.
  const std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace assay
