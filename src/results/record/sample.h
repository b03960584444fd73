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
  double seconds = 0;              ///< per repetition (Work::repetitions)
  std::optional<double> clock_hz;  ///< engine clock during the sample, where it can be measured
  bool throttled = false;          ///< clock below 90% of the device's highest; kept and counted
};

/// Why sampling or warming up ended.
enum class StopReason {
  precision,     ///< the interval of the median is narrow enough
  time_box,      ///< the time for sampling or warming up one cell is over
  sample_limit,  ///< there is the largest number of samples
  interrupted,   ///< the user or the system stopped it, or the budget of the run is used up
  warm,          ///< of warming up: the median time no longer changes by more than 0.5%
  not_run,       ///< it has not ended
};

/// All samples of one cell in one run, none dropped, with how they were taken.
struct SampleSet {
  std::vector<Sample> samples;
  TimeSource time_source = TimeSource::device_events;
  CacheState cache_state = CacheState::hot;
  bool gated = false;  ///< the device was held until the work and both events were queued
  int launches = 1;    ///< enqueue() calls per sample; its seconds are divided by this, too
  std::size_t warmup_launches = 0;
  StopReason warmup_stop = StopReason::not_run;
  StopReason stop = StopReason::not_run;
  double wall_seconds = 0;      ///< warm-up and sampling together
  SensorReading before, after;  ///< read before the warm-up and after the last sample
  /// Begin and end of the samples, warm-up excluded. Not stored, and neither are `by_rank` and
  /// `inside`.
  std::chrono::steady_clock::time_point begin, end;
  /// If ranks measured together: the seconds of all samples of each rank. Each of `samples` is then
  /// that of the rank which was slowest in it. Empty for a single process.
  std::vector<std::vector<double>> by_rank;
  /// By rank: median seconds of single operations that all ranks began at once, which show
  /// stragglers (Arrivals in measure/sampling/team_sample.h).
  std::vector<double> inside;
};

/// Returns a stable name for records: "precision", "time_box", ...
std::string_view name_of(StopReason reason);

}  // namespace assay
