#include "statistics/saturation.h"

#include <algorithm>
#include <cmath>

namespace assay {

double size_at_share(std::vector<std::pair<double, double>> curve, double share) {
  std::sort(curve.begin(), curve.end());
  double plateau = 0;
  for (const auto& [size, rate] : curve) plateau = std::max(plateau, rate);
  const double wanted = share * plateau;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (curve[i].second < wanted) continue;
    if (i == 0) return curve[0].first;
    const auto& [size0, rate0] = curve[i - 1];
    const auto& [size1, rate1] = curve[i];
    const double fraction = (wanted - rate0) / (rate1 - rate0);
    return std::exp2(std::log2(size0) + fraction * (std::log2(size1) - std::log2(size0)));
  }
  return 0;
}

}  // namespace assay
