// Whether pairs depend on the pairs before them. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "statistics/paired_series.h"

namespace assay {

/// The autocorrelation of neighbouring pairs that each series must allow for, in [0, 0.98]. It is 0
/// unless there is evidence: a coin draws the order of each pair, so what disturbs A and B alike
/// leaves pairs independent; they depend on each other where one side drifts by itself, as two
/// machines or two servers do.
///
/// The evidence is a permutation test of the order of pairs, at 2%: of the mean of all series'
/// autocorrelations, since a side that drifts usually moves all cells, and of the largest one. The
/// value is Kendall's (1954) correction of the estimate, whose expectation is about
/// rho - (1 + 4 rho) / n.
std::vector<double> find_dependence(std::span<const PairedSeries> family);

/// What n values are worth if each depends on the one before it.
struct EffectiveSample {
  double n = 0;                 ///< the number of independent values whose mean is as precise
  double deviation_factor = 1;  ///< what the sample's deviation must be multiplied by
};

/// `rho`, their autocorrelation, in [0, 1). The mean of n values varies as that of n (1 - rho) / (1
/// + rho) independent ones, at least 1.5 here, and their sample variance is short by a share of
/// (tau - 1) / (n - 1), where tau = (1 + rho) / (1 - rho).
EffectiveSample effective_sample(std::size_t n, double rho);

}  // namespace assay
