#include "statistics/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace assay {
namespace {

/// Returns the natural logarithm of n!. std::lgamma also writes the global `signgam`, which is a
/// race between threads.
double log_factorial(double n) {
  int sign = 0;
  return lgamma_r(n + 1, &sign);
}

/// Returns the largest k >= 0 with P(Bin(m, q) < k) <= tail: how many order statistics below the
/// quantile q may be cut off at the lower end of m values; with 1 - q, at the upper end.
std::size_t cut_off(std::size_t m, double q, double tail) {
  const double md = static_cast<double>(m);
  const double log_in = std::log(q), log_out = std::log1p(-q), log_all = log_factorial(md);
  double below = 0;
  std::size_t k = 0;
  for (; k < m; ++k) {
    const double kd = static_cast<double>(k);
    below += std::exp(log_all - log_factorial(kd) - log_factorial(md - kd) + kd * log_in +
                      (md - kd) * log_out);
    if (below > tail) break;
  }
  return k;
}

/// Returns the sum of the squared deviations from the mean.
double squares_of(std::span<const double> values) {
  const double center = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return squares;
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto index = static_cast<std::size_t>(position);
  if (index + 1 >= sorted.size()) return sorted.back();
  const double fraction = position - static_cast<double>(index);
  return sorted[index] + fraction * (sorted[index + 1] - sorted[index]);
}

double quantile_of(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return quantile(values, q);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double sample_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  return std::sqrt(squares_of(values) / static_cast<double>(values.size() - 1));
}

double population_deviation(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::sqrt(squares_of(values) / static_cast<double>(values.size()));
}

double autocorrelation(std::span<const double> values) {
  if (values.size() < 3) return 0;
  const double center = mean(values);
  double variance = 0, covariance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    variance += (values[i] - center) * (values[i] - center);
    if (i > 0) covariance += (values[i] - center) * (values[i - 1] - center);
  }
  // Equal values differ from their mean only by rounding.
  const double rounding = std::abs(center) * std::numeric_limits<double>::epsilon();
  const double noise = static_cast<double>(values.size()) * rounding * rounding;
  return variance > 16 * noise ? covariance / variance : 0;
}

double effective_count(std::size_t n, double rho) {
  const double count = static_cast<double>(n);
  if (rho <= 0) return count;
  return std::clamp(count * (1 - rho) / (1 + rho), std::min(1.0, count), count);
}

Interval quantile_interval(std::span<const double> sorted, double q, double coverage,
                           double effective) {
  const std::size_t n = sorted.size();
  const auto m = std::clamp<std::size_t>(static_cast<std::size_t>(effective), 1, n);
  // Ranks among m independent values are scaled to the n dependent ones.
  const auto rank = [&](std::size_t cut) { return cut == 0 ? 0 : (cut - 1) * n / m; };
  const double tail = (1 - coverage) / 2;
  return {sorted[rank(cut_off(m, q, tail))], sorted[n - 1 - rank(cut_off(m, 1 - q, tail))]};
}

Interval median_interval(std::span<const double> sorted, double coverage, double effective) {
  return quantile_interval(sorted, 0.5, coverage, effective);
}

Summary summarize(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  Summary summary;
  summary.n = values.size();
  summary.autocorrelation = autocorrelation(values);
  summary.effective_n = effective_count(values.size(), summary.autocorrelation);
  summary.minimum = sorted.front();
  summary.q1 = quantile(sorted, 0.25);
  summary.median = quantile(sorted, 0.5);
  summary.q3 = quantile(sorted, 0.75);
  summary.p95 = quantile(sorted, 0.95);
  summary.maximum = sorted.back();
  summary.mean = mean(sorted);
  summary.interval95 = median_interval(sorted, 0.95, summary.effective_n);
  return summary;
}

}  // namespace assay
