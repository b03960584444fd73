#include "measure/benchmarks/copy/size_curve.h"

#include <fmt/format.h>

#include <cmath>

#include "core/units.h"
#include "statistics/saturation.h"

namespace assay {

std::vector<Conclusion> saturation_conclusions(std::string_view benchmark,
                                               const std::map<std::string, SizeCurve>& curves) {
  std::vector<Conclusion> conclusions;
  for (const auto& [name, curve] : curves) {
    if (curve.size() < 3) continue;  // one or two points make no plateau
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
