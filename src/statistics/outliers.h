// Which of many values do not belong with the rest, whatever the rest looks like. Pure functions.
#pragma once

#include <span>
#include <vector>

namespace assay {

/// Two-sided p of each value under "it comes from where the others do": its distance from the
/// median in units of 1.4826 MAD, held against Student's t with 0.37 (n - 1) degrees of freedom,
/// since the MAD is 37% as efficient as the standard deviation (Hampel 1974; Rousseeuw & Croux
/// 1993). Where more than half of the values are equal the mean distance takes the MAD's place.
/// Every p is 1 for fewer than 4 values. Up to half of the values may be odd without hiding each
/// other.
std::vector<double> outlier_p(std::span<const double> values);

}  // namespace assay
