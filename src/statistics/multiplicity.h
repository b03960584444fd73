// Many tests at once. Pure functions.
#pragma once

#include <span>
#include <vector>

namespace assay {

/// Holm's step-down (1979): which hypotheses are rejected so that the chance of any false rejection
/// is at most `alpha`. In the order of `p`.
std::vector<bool> holm(std::span<const double> p, double alpha);

/// Holm's adjusted p: for each hypothesis the least alpha at which it is rejected. In the order of
/// `p`.
std::vector<double> holm_adjusted(std::span<const double> p);

/// Benjamini and Hochberg (1995): which are rejected so that the expected share of false rejections
/// is at most `rate`. In the order of `p`.
std::vector<bool> benjamini_hochberg(std::span<const double> p, double rate);

}  // namespace assay
