// Many tests at once. Pure functions.
#pragma once

#include <span>
#include <vector>

namespace assay {

/// Holm's step-down (1979): which hypotheses are rejected with the chance of any false rejection
/// at most `alpha`. In the order of `p`.
std::vector<bool> holm(std::span<const double> p, double alpha);

/// Benjamini and Hochberg (1995): which are rejected with an expected share of false rejections of
/// at most `rate`. In the order of `p`.
std::vector<bool> benjamini_hochberg(std::span<const double> p, double rate);

}  // namespace assay
