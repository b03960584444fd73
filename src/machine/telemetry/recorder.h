// Samples telemetry in a separate thread during a measurement.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <thread>

#include "core/result.h"
#include "machine/telemetry/source.h"
#include "machine/telemetry/trace.h"

namespace assay {

/// Parses "off" or ticks per second, as users give them, to seconds between ticks; 0: off. Error:
/// usage, naming the text and what is allowed.
Result<double> parse_tick_rate(std::string_view text);

class TelemetryRecorder {
 public:
  using Clock = std::chrono::steady_clock;

  /// Reads the sources every `interval` seconds, more than 0, from now until it is destroyed.
  TelemetryRecorder(TelemetrySources sources, double interval);
  /// If a source hangs for two seconds, abandons it together with the thread.
  ~TelemetryRecorder();
  TelemetryRecorder(const TelemetryRecorder&) = delete;
  TelemetryRecorder& operator=(const TelemetryRecorder&) = delete;

  /// Returns the ticks within [begin, end] and the neighbouring ones that integrals need, as far as
  /// they are among the last 36,000. Requests a tick now and waits for it, at most two seconds, so
  /// call it outside the timed part.
  TelemetryTrace slice(Clock::time_point begin, Clock::time_point end);

 private:
  struct State;

  // The thread shares ownership, so the state outlives the recorder if a source hangs.
  const std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace assay
