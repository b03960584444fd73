#include "statistics/outliers.h"

#include <algorithm>
#include <cmath>

#include "statistics/distributions.h"
#include "statistics/summary.h"

namespace assay {
namespace {

struct Spread {
  double middle = 0, scale = 0, freedom = 0;
};

/// Returns empty if the values do not determine how far one may be from the others.
std::optional<Spread> spread_of(std::span<const double> values) {
  constexpr std::size_t least = 4;
  constexpr double mad_efficiency = 0.37;
  if (values.size() < least) return std::nullopt;
  Spread spread;
  std::vector<double> distances(values.begin(), values.end());
  spread.middle = median(distances);
  double sum = 0;
  for (double& value : distances) {
    value = std::abs(value - spread.middle);
    sum += value;
  }
  spread.scale = 1.4826 * median(distances);
  // The mean distance of normal values is 0.7979 standard deviations.
  if (!(spread.scale > 0)) spread.scale = 1.2533 * sum / static_cast<double>(values.size());
  if (!(spread.scale > 0)) return std::nullopt;
  spread.freedom = mad_efficiency * static_cast<double>(values.size() - 1);
  return spread;
}

}  // namespace

std::vector<double> outlier_p(std::span<const double> values) {
  std::vector<double> p(values.size(), 1.0);
  const auto spread = spread_of(values);
  if (!spread) return p;
  for (std::size_t i = 0; i < values.size(); ++i) {
    p[i] =
        2 * student_t_cdf(-std::abs(values[i] - spread->middle) / spread->scale, spread->freedom);
  }
  return p;
}

std::optional<double> outlier_distance(std::span<const double> values, double p) {
  const auto spread = spread_of(values);
  if (!spread) return std::nullopt;
  return -spread->scale * student_t_quantile(p / 2, spread->freedom);
}

}  // namespace assay
