#include "measure/sampling/stopping_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "statistics/summary.h"

namespace assay {
namespace {

constexpr std::size_t window_size = 10;
constexpr double warm_tolerance = 0.005;
constexpr std::size_t least_warmup_launches = 3;

}  // namespace

SamplingLimits sustained(SamplingLimits limits, bool throttled) {
  limits.time_box_seconds = limits.sustained_time_box_seconds;
  limits.least_seconds = throttled ? 6 : 2;
  if (throttled) {
    limits.least_samples = 15;
    // With a tight budget samples are shorter, so that there are more than a few.
    limits.least_sample_seconds = std::min(0.4, limits.time_box_seconds / 15);
  }
  return limits;
}

SamplingLimits stopped_by_quota(SamplingLimits limits) {
  constexpr double period = 0.1, most_periods = 4;
  constexpr std::size_t samples = 10;
  const bool fills_its_time = limits.precision == 0;  // as other processes at a barrier do
  if (!fills_its_time) limits.time_box_seconds = limits.sustained_time_box_seconds;
  limits.least_samples = samples;
  const double periods = std::floor(limits.time_box_seconds / (samples * period));
  limits.least_sample_seconds = period * std::clamp(periods, 1.0, most_periods);
  return limits;
}

SamplingLimits exactly(std::size_t samples, SamplingLimits limits) {
  limits.most_samples = samples;
  limits.least_samples = samples + 1;  // precision is not checked before the last sample
  limits.time_box_seconds = std::numeric_limits<double>::infinity();
  limits.warmup_seconds = 0;
  return limits;
}

std::optional<StopReason> StoppingRule::after(double sample_seconds, double elapsed_seconds) {
  seconds_.push_back(sample_seconds);
  if (seconds_.size() >= next_look_ && elapsed_seconds >= limits_.least_seconds) {
    next_look_ = std::max(seconds_.size() + 1, seconds_.size() + seconds_.size() / 10);
    const Summary summary = summarize(seconds_);
    const double half_width = (summary.interval95.high - summary.interval95.low) / 2;
    if (half_width <= limits_.precision * summary.median) return StopReason::precision;
  }
  if (seconds_.size() >= limits_.most_samples) return StopReason::sample_limit;
  if (elapsed_seconds >= limits_.time_box_seconds) return StopReason::time_box;
  if (elapsed_seconds >= limits_.budget_seconds) return StopReason::interrupted;
  return std::nullopt;
}

std::optional<StopReason> WarmupRule::after(double sample_seconds, double elapsed_seconds) {
  ++launches_;
  window_.push_back(sample_seconds);
  if (window_.size() >= window_size &&
      elapsed_seconds - window_began_ >= limits_.settling_seconds) {
    window_began_ = elapsed_seconds;
    std::sort(window_.begin(), window_.end());
    const double median = quantile(window_, 0.5);
    window_.clear();
    if (previous_median_ && std::abs(median - *previous_median_) <= warm_tolerance * median) {
      return StopReason::warm;
    }
    previous_median_ = median;
  }
  if (launches_ >= least_warmup_launches && elapsed_seconds >= limits_.warmup_seconds) {
    return StopReason::time_box;
  }
  return std::nullopt;
}

}  // namespace assay
