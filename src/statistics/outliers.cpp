#include "statistics/outliers.h"

#include <algorithm>
#include <cmath>

#include "statistics/distributions.h"
#include "statistics/summary.h"

namespace assay {
std::vector<double> outlier_p(std::span<const double> values) {
  constexpr std::size_t least = 4;
  constexpr double mad_efficiency = 0.37;
  std::vector<double> p(values.size(), 1.0);
  if (values.size() < least) return p;
  std::vector<double> work(values.begin(), values.end());
  const double middle = median(work);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    work[i] = std::abs(values[i] - middle);
    sum += work[i];
  }
  double scale = 1.4826 * median(work);
  // The mean distance of normal values is 0.7979 standard deviations.
  if (!(scale > 0)) scale = 1.2533 * sum / static_cast<double>(values.size());
  if (!(scale > 0)) return p;
  const double freedom = mad_efficiency * static_cast<double>(values.size() - 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    p[i] = 2 * student_t_cdf(-std::abs(values[i] - middle) / scale, freedom);
  }
  return p;
}

}  // namespace assay
