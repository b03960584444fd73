// Curves of bandwidth over size, and the sizes at which they saturate.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/grid/benchmark.h"

namespace assay {

/// Points of (bytes, bytes/s), in any order.
using SizeCurve = std::vector<std::pair<double, double>>;

/// The sizes at which each named curve reaches half and nine tenths of its plateau
/// (statistics/saturation.h). Curves with fewer than three points are left out. `benchmark` is its
/// name, for the texts.
std::vector<Conclusion> saturation_conclusions(std::string_view benchmark,
                                               const std::map<std::string, SizeCurve>& curves);

}  // namespace assay
