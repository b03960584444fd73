// Finds outliers among many values. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace assay {

/// Returns the two-sided p of each value under the hypothesis that it comes from the distribution
/// of the others. Its distance from the median in units of 1.4826 MAD (the median absolute
/// deviation) is compared with Student's t with 0.37 (n - 1) degrees of freedom, because the MAD is
/// 37% as efficient as the standard deviation (Hampel 1974; Rousseeuw & Croux 1993). If more than
/// half of the values are equal, the MAD is 0, and 1.2533 times the mean distance is the unit.
/// Every p is 1 for fewer than 4 values, or if all are equal. Up to half of the values can be
/// outliers without masking each other.
std::vector<double> outlier_p(std::span<const double> values);

/// Returns the distance from the median at which outlier_p() is `p`. Empty if every p is 1, because
/// there are fewer than 4 values or all are equal.
std::optional<double> outlier_distance(std::span<const double> values, double p);

}  // namespace assay
