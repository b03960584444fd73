// Many tests at once. Pure functions.
#pragma once

#include <span>
#include <vector>

namespace assay {

/// Holm's step-down procedure (1979): returns which hypotheses are rejected, in the order of `p`,
/// so that the probability of any false rejection is at most `alpha`.
std::vector<bool> holm(std::span<const double> p, double alpha);

/// Holm's adjusted p: returns for each hypothesis the least alpha at which it is rejected, in the
/// order of `p`.
std::vector<double> holm_adjusted(std::span<const double> p);

}  // namespace assay
