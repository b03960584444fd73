// Finds where a curve of a rate over size stops growing.
#pragma once

#include <utility>
#include <vector>

namespace assay {

/// Returns the size at which a curve of (size > 0, rate), in any order, first reaches `share` of
/// its plateau, which is its highest rate. It is interpolated in log2(size) between measured sizes.
/// Returns the smallest measured size if that already reaches it; 0 for an empty curve.
double size_at_share(std::vector<std::pair<double, double>> curve, double share);

}  // namespace assay
