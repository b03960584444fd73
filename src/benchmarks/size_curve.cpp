#include "benchmarks/size_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace assay {

double size_at_share(SizeCurve curve, double share) {
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

std::vector<Conclusion> saturation_conclusions(std::string_view benchmark,
                                               const std::map<std::string, SizeCurve>& curves) {
  std::vector<Conclusion> conclusions;
  for (const auto& [name, curve] : curves) {
    if (curve.size() < 3) continue;  // a plateau of one or two points is none
    for (const auto& [share, key] :
         {std::pair{0.5, "half_plateau_bytes "}, std::pair{0.9, "nine_tenths_plateau_bytes "}}) {
      const double bytes = size_at_share(curve, share);
      conclusions.push_back(
          {key + name, bytes, "bytes",
           fmt::format("{} {}: {}% of the plateau at {}", benchmark, name, std::lround(share * 100),
                       format_memory(static_cast<std::uint64_t>(bytes)))});
    }
  }
  return conclusions;
}

}  // namespace assay
