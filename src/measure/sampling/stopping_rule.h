// Decides when to stop sampling. Pure logic: it receives seconds, has no clock, and returns a
// decision.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "measure/sampling/sampler.h"
#include "results/record/sample.h"

namespace assay {

/// Stops on precision, never on the value: when the 95% order-statistic interval of the median,
/// corrected for autocorrelation (summarize() in statistics/summary.h), has a half-width of at most
/// `precision` times the median. Otherwise it stops at the limits of samples and time. It checks
/// the precision only after 10% more samples than at its last check, because each check is another
/// chance to stop early.
class StoppingRule {
 public:
  explicit StoppingRule(const SamplingLimits& limits)
      : limits_(limits), next_look_(limits.least_samples) {}

  /// Call after each sample; returns the reason to stop if it is time to stop. `elapsed_seconds` is
  /// the wall time spent sampling.
  std::optional<StopReason> after(double sample_seconds, double elapsed_seconds);

 private:
  SamplingLimits limits_;
  std::size_t next_look_;
  std::vector<double> seconds_;
};

/// Whether a CPU quota stopped threads so often, `stops` times in `seconds`, that samples must
/// include it: in more than a tenth of its periods of 0.1 s. Longer samples also include what other
/// programs take, so rarer stops, which cost little, do not justify them.
constexpr bool stopped_often(double stops, double seconds) {
  return stops > seconds;
}

/// Decides when a device is warm: when two consecutive windows, each of at least 10 samples and
/// `settling_seconds` of wall time, have medians within 0.5% of each other. After `warmup_seconds`
/// it stops anyway.
class WarmupRule {
 public:
  explicit WarmupRule(const SamplingLimits& limits) : limits_(limits) {}

  /// Call after each warm-up launch; returns `warm` or `time_box` if it is time to stop, after at
  /// least 3 launches. `elapsed_seconds` is the wall time since the warm-up began.
  std::optional<StopReason> after(double sample_seconds, double elapsed_seconds);

 private:
  SamplingLimits limits_;
  double window_began_ = 0;
  std::vector<double> window_;
  std::optional<double> previous_median_;
  std::size_t launches_ = 0;
};

}  // namespace assay
