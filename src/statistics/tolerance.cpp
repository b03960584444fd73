#include "statistics/tolerance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "statistics/distributions.h"
#include "statistics/summary.h"

namespace assay {

double tolerance_factor(std::size_t n, const TolerancePromise& promise) {
  const double root = std::sqrt(static_cast<double>(n));
  const double shift = normal_quantile(1 - promise.rate) * root;
  return noncentral_t_quantile(promise.confidence, static_cast<double>(n) - 1, shift) / root;
}

double tolerance_detection(std::size_t n, double factor, double shift) {
  // The distance of such a value from the sample's mean, over the sample's deviation.
  const double spread = std::sqrt(1 + 1 / static_cast<double>(n));
  return 1 - noncentral_t_cdf(factor / spread, static_cast<double>(n) - 1, shift / spread);
}

std::optional<std::size_t> tolerance_order(std::size_t n, const TolerancePromise& promise) {
  // The r-th largest value is beyond the quantile if at least r of n values are.
  std::size_t order = 0;
  while (order < n && 1 - binomial_cdf(order, n, promise.rate) >= promise.confidence) ++order;
  return order == 0 ? std::nullopt : std::optional(order);
}

std::size_t least_for_tolerance_order(const TolerancePromise& promise) {
  return static_cast<std::size_t>(
      std::ceil(std::log1p(-promise.confidence) / std::log1p(-promise.rate)));
}

std::optional<ToleranceLimit> upper_tolerance_limit(std::span<const double> values,
                                                    const TolerancePromise& promise) {
  constexpr std::size_t least_values = 3;
  if (values.size() < least_values) return std::nullopt;
  ToleranceLimit limit;
  if (const auto order = tolerance_order(values.size(), promise)) {
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    limit.order = *order;
    limit.value = sorted[*order - 1];
    return limit;
  }
  limit.factor = tolerance_factor(values.size(), promise);
  limit.value = mean(values) + limit.factor * sample_deviation(values);
  return limit;
}

}  // namespace assay
