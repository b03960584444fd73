// Tests whether the differences of successive pairs are autocorrelated, and estimates how strongly.
// Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "statistics/paired_series.h"

namespace assay {

/// Returns for each series the lag-1 autocorrelation of its differences to allow for, in [0, 0.98];
/// 0 unless there is evidence that it is positive. The order of A and B within each pair is random,
/// so a disturbance that affects both leaves pairs independent. Pairs depend on each other if one
/// side drifts by itself, as one of two machines or servers does.
///
/// Two permutation tests of the order of pairs look for it, each at 2%. If the mean autocorrelation
/// of all series is significant, each series gets that mean, because a drifting side usually moves
/// all cells. A series that is significant against the largest autocorrelation of each permutation
/// gets at least its own. Series with fewer than 6 differences, or whose differences are all equal,
/// get 0. The permutations are drawn from a fixed seed, so the result is repeatable.
///
/// The values are corrected as by Kendall (1954): the estimate r from n values has an expectation
/// of about rho - (1 + 4 rho) / n, so rho is taken as (n r + 1) / (n - 4).
std::vector<double> find_dependence(std::span<const PairedSeries> family);

/// The independent sample that is equivalent to n values that each depend on the previous one.
struct EffectiveSample {
  double n = 0;                 ///< the number of independent values whose mean is as precise
  double deviation_factor = 1;  ///< multiplies the sample standard deviation, which is too small
};

/// Returns the equivalent of `n` values with the lag-1 autocorrelation `rho`, in [0, 1): their mean
/// varies like that of n (1 - rho) / (1 + rho) independent values, here at least 1.5 and at most n.
/// The sample variance of n such values is too small by a share of (tau - 1) / (n - 1), here at
/// most 0.75, where tau = (1 + rho) / (1 - rho). For n < 3 or rho <= 0 the values count as
/// independent.
EffectiveSample effective_sample(std::size_t n, double rho);

}  // namespace assay
