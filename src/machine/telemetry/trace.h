// Telemetry of one stretch of time, by channel, and the cost of recording it.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/telemetry/source.h"

namespace assay {

/// The recorder's cost since it was started.
struct RecorderCost {
  std::uint64_t ticks = 0;   ///< readings, including those that slice() requested (recorder.h)
  std::uint64_t missed = 0;  ///< ticks skipped because a reading took too long or began too late
  double cpu_seconds = 0;    ///< CPU time of the recorder's thread
  double longest_read_seconds = 0;
};

struct TelemetryTrace {
  double interval = 0;          ///< seconds from tick to tick
  double window = 0;            ///< seconds; the stretch is [0, window]
  std::vector<double> seconds;  ///< time of every tick, ascending; some may lie before 0 or after
                                ///< the window
  std::vector<Channel> channels;
  std::vector<std::vector<double>> values;  ///< values[channel][tick]; NaN where not read
  RecorderCost cost;
};

}  // namespace assay
