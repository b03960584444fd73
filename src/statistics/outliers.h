// Which of many values are outliers. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace assay {

/// Two-sided p of each value under the hypothesis that it comes from the distribution of the
/// others: its distance from the median in units of 1.4826 MAD, compared with Student's t with 0.37
/// (n - 1) degrees of freedom, since the MAD is 37% as efficient as the standard deviation (Hampel
/// 1974; Rousseeuw & Croux 1993). If more than half of the values are equal, the mean distance
/// replaces the MAD, which is 0. Every p is 1 for fewer than 4 values. Up to half of the values can
/// be outliers without masking each other.
std::vector<double> outlier_p(std::span<const double> values);

/// The distance from the median at which outlier_p() is `p`. Empty where every p is 1: of fewer
/// than 4 values, or equal ones.
std::optional<double> outlier_distance(std::span<const double> values, double p);

}  // namespace assay
