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

/// Parses "off" or ticks per second from 0.0001 to 1000, as users give them; a tick is one reading
/// of all sources. Returns the seconds between two ticks; 0: off. Error: usage.
Result<double> parse_tick_rate(std::string_view text);

class TelemetryRecorder {
 public:
  using Clock = std::chrono::steady_clock;

  /// Reads the sources at once and again every `interval` seconds, more than 0, until it is
  /// destroyed; slow channels in every tenth tick. Ticks that come too late are left out and
  /// counted.
  TelemetryRecorder(TelemetrySources sources, double interval);
  /// Waits for a reading that has begun. If it takes more than two seconds, the recorder abandons
  /// the sources together with the thread.
  ~TelemetryRecorder();
  TelemetryRecorder(const TelemetryRecorder&) = delete;
  TelemetryRecorder& operator=(const TelemetryRecorder&) = delete;

  /// Returns the ticks within [begin, end], and those from the last complete tick before to the
  /// first one after, which integrals need. Only the last 36,000 ticks, an hour at 10 Hz, are kept.
  /// Requests a complete tick now and waits for it, at most two seconds, so call it outside the
  /// timed part. A complete tick includes the slow channels. Threads may call this at once.
  TelemetryTrace slice(Clock::time_point begin, Clock::time_point end);

 private:
  struct State;

  // The thread shares ownership, so the state outlives the recorder if a source hangs.
  const std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace assay
