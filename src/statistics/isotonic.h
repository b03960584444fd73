// The curve that never falls and lies closest to noisy values. Pure functions.
#pragma once

#include <span>
#include <vector>

namespace assay {

/// Isotonic regression: of all sequences that never decrease, the one with the least weighted sum
/// of squared differences from `values`, by pooling adjacent violators (Ayer et al. 1955, Ann.
/// Math. Stat. 26). `weights` are as many, and above 0.
std::vector<double> isotonic_fit(std::span<const double> values, std::span<const double> weights);

}  // namespace assay
