// Estimates whether pairs depend on the pairs before them. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "statistics/paired_series.h"

namespace assay {

/// Returns for each series the autocorrelation of neighbouring pairs to allow for, in [0, 0.98]. It
/// is 0 unless there is evidence. The order of each pair is random, so a disturbance of both A and
/// B leaves pairs independent. They depend on each other if one side drifts by itself, as two
/// machines or two servers do.
///
/// The evidence is a permutation test of the order of pairs, at 2%. It tests the mean of all
/// series' autocorrelations, because a drifting side usually moves all cells, and the largest one.
/// The value is Kendall's (1954) correction of the estimate, whose expectation is about rho - (1 +
/// 4 rho) / n.
std::vector<double> find_dependence(std::span<const PairedSeries> family);

/// The independent sample that is equivalent to n values that each depend on the previous one.
struct EffectiveSample {
  double n = 0;                 ///< the number of independent values whose mean is as precise
  double deviation_factor = 1;  ///< factor for the sample's deviation
};

/// `rho` is their autocorrelation, in [0, 1). The mean of n values varies like that of n (1 - rho)
/// / (1 + rho) independent ones, here at least 1.5. Their sample variance is too small by a share
/// of (tau - 1) / (n - 1), where tau = (1 + rho) / (1 - rho).
EffectiveSample effective_sample(std::size_t n, double rho);

}  // namespace assay
