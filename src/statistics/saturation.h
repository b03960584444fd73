// Where a curve of a rate over size stops growing.
#pragma once

#include <utility>
#include <vector>

namespace assay {

/// The size at which a curve of (size, rate) first reaches `share` of its plateau, the highest rate
/// on it; interpolated in log2(size) between measured sizes. The smallest measured size if that
/// already reaches it; 0 for an empty curve.
double size_at_share(std::vector<std::pair<double, double>> curve, double share);

}  // namespace assay
