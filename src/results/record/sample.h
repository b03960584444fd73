// One timed observation and its circumstances.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "machine/system/sensor_reading.h"
#include "results/record/work.h"

namespace assay {

struct Sample {
  double seconds = 0;              ///< per repetition
  std::optional<double> clock_hz;  ///< engine clock during the sample, where it can be measured
  bool throttled = false;          ///< clock below 90% of the device's highest; kept and counted
};

/// Why sampling or warming up ended.
enum class StopReason { precision, time_box, sample_limit, interrupted, warm, not_run };

/// All samples of one cell in one run, none dropped, with how they were taken.
struct SampleSet {
  std::vector<Sample> samples;
  TimeSource time_source = TimeSource::device_events;
  CacheState cache_state = CacheState::hot;
  bool gated = false;  ///< the device was held until the work and both events were queued
  int launches = 1;    ///< launches per sample; its seconds are divided by this
  std::size_t warmup_launches = 0;
  StopReason warmup_stop = StopReason::not_run;
  StopReason stop = StopReason::not_run;
  double wall_seconds = 0;  ///< warm-up and sampling together
  SensorReading before, after;
  /// Begin and end of the samples, warm-up excluded.
  std::chrono::steady_clock::time_point begin, end;
  /// If ranks measured together: the seconds of all samples of each rank, and `samples` are those
  /// of the slowest rank. Empty for a single process.
  std::vector<std::vector<double>> by_rank;
  std::vector<double> inside;  ///< by rank, see Arrivals::inside (measure/sampling/team_sample.h)
};

/// Returns a stable name for records: "precision", "time_box", ...
std::string_view name_of(StopReason reason);

}  // namespace assay
