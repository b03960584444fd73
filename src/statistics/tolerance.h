// One-sided tolerance limits: bounds that a stated share of a population keeps, with a stated
// confidence, computed from a sample of that population. Pure functions. Source: Krishnamoorthy and
// Mathew, Statistical Tolerance Regions (2009), chapters 2 and 8.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace assay {

/// What a tolerance limit promises: at most `rate` of the population is beyond it, and a sample
/// gives a limit for which this is true with probability `confidence`. Both lie between 0 and 1.
struct TolerancePromise {
  double rate = 0.01;
  double confidence = 0.95;
};

/// Returns k: mean + k * deviation of n >= 2 values from a normal distribution keeps the promise.
double tolerance_factor(std::size_t n, const TolerancePromise& promise);

/// Returns the probability that a value which lies `shift` deviations above the population's mean
/// is beyond the limit mean + `factor` * deviation of n >= 2 values of the population.
double tolerance_detection(std::size_t n, double factor, double shift);

/// Returns which of n sorted values, counted from the extreme one as 1, keeps the promise for every
/// distribution. It is the largest such number, hence the tightest limit. Empty if n is too small.
std::optional<std::size_t> tolerance_order(std::size_t n, const TolerancePromise& promise);

/// Returns the least n for which tolerance_order() is not empty.
std::size_t least_for_tolerance_order(const TolerancePromise& promise);

struct ToleranceLimit {
  double value = 0;
  /// The limit is the sample's `order`-th largest value, which keeps the promise for every
  /// distribution; 0: it is mean + factor * deviation, which keeps it for normal distributions.
  std::size_t order = 0;
  double factor = 0;  ///< as tolerance_factor() if `order` is 0, else 0
};

/// Returns the upper limit of a sample in any order, by order if tolerance_order() allows it.
/// nullopt for fewer than 3 values.
std::optional<ToleranceLimit> upper_tolerance_limit(std::span<const double> values,
                                                    const TolerancePromise& promise);

}  // namespace assay
