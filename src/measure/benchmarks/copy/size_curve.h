// Curves of bandwidth over size: where they saturate.
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

/// Where each named curve reaches half and nine tenths of its plateau. Curves with fewer than three
/// points have none.
std::vector<Conclusion> saturation_conclusions(std::string_view benchmark,
                                               const std::map<std::string, SizeCurve>& curves);

}  // namespace assay
