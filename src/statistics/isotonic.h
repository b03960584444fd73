// The non-decreasing curve closest to noisy values. Pure functions.
#pragma once

#include <span>
#include <vector>

namespace assay {

/// Isotonic regression: returns the non-decreasing sequence with the least weighted sum of squared
/// differences from `values`, by pooling adjacent violators (Ayer et al. 1955, Ann. Math. Stat.
/// 26). `weights` has one number above 0 for each value.
std::vector<double> isotonic_fit(std::span<const double> values, std::span<const double> weights);

}  // namespace assay
