#include "statistics/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace assay {
namespace {

/// Largest k >= 0 with P(Bin(m, 1/2) < k) <= tail: how many order statistics may be cut off at each
/// end of m values.
std::size_t cut_off(std::size_t m, double tail) {
  const double log_scale =
      std::lgamma(static_cast<double>(m) + 1) - static_cast<double>(m) * std::log(2.0);
  double below = 0;
  std::size_t k = 0;
  while (k <= m / 2) {
    const double kd = static_cast<double>(k);
    below +=
        std::exp(log_scale - std::lgamma(kd + 1) - std::lgamma(static_cast<double>(m) - kd + 1));
    if (below > tail) break;
    ++k;
  }
  return k;
}

}  // namespace

double quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto index = static_cast<std::size_t>(position);
  if (index + 1 >= sorted.size()) return sorted.back();
  const double fraction = position - static_cast<double>(index);
  return sorted[index] + fraction * (sorted[index + 1] - sorted[index]);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double sample_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1));
}

double autocorrelation(std::span<const double> values) {
  if (values.size() < 3) return 0;
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double variance = 0, covariance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    variance += (values[i] - mean) * (values[i] - mean);
    if (i > 0) covariance += (values[i] - mean) * (values[i - 1] - mean);
  }
  // Equal values differ from their mean by rounding alone.
  const double rounding = std::abs(mean) * std::numeric_limits<double>::epsilon();
  const double noise = static_cast<double>(values.size()) * rounding * rounding;
  return variance > 16 * noise ? covariance / variance : 0;
}

double effective_count(std::size_t n, double rho) {
  const double count = static_cast<double>(n);
  if (rho <= 0) return count;
  return std::clamp(count * (1 - rho) / (1 + rho), std::min(1.0, count), count);
}

Interval median_interval(std::span<const double> sorted, double coverage, double effective) {
  const std::size_t n = sorted.size();
  const auto m = std::clamp<std::size_t>(static_cast<std::size_t>(effective), 1, n);
  const std::size_t cut = cut_off(m, (1 - coverage) / 2);
  if (cut == 0) return {sorted.front(), sorted.back()};
  // Ranks among m independent values, carried over to the same share of the n dependent ones.
  const std::size_t low = (cut - 1) * n / m;
  return {sorted[low], sorted[n - 1 - low]};
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
  summary.mean =
      std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  summary.interval95 = median_interval(sorted, 0.95, summary.effective_n);
  return summary;
}

}  // namespace assay
