#include "statistics/slope.h"

#include <algorithm>
#include <cmath>

#include "statistics/distributions.h"
#include "statistics/summary.h"

namespace assay {

std::optional<Slope> slope_of(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 3) return std::nullopt;
  const double x_mean = mean(x), y_mean = mean(y);
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - x_mean, dy = y[i] - y_mean;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  if (!(xx > 0)) return std::nullopt;
  const double freedom = static_cast<double>(x.size() - 2);
  const double rest = std::max(0.0, yy - xy * xy / xx);  // what the line does not explain
  const double error = std::sqrt(rest / freedom / xx);
  return Slope{xy / xx, student_t_quantile(0.975, freedom) * error};
}

}  // namespace assay
