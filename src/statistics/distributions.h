// Distributions for statistical tests. Boost.Math computes them; only distributions.cpp includes
// it.
#pragma once

#include <cstddef>

namespace assay {

/// P(T <= t) and its inverse for Student's t with `freedom` > 0 degrees; 0 < probability < 1.
double student_t_cdf(double t, double freedom);
double student_t_quantile(double probability, double freedom);

/// Requires 0 < probability < 1.
double normal_quantile(double probability);

/// Returns P(X <= successes) for n fair coins; 0 <= successes <= n.
double coin_cdf(std::size_t successes, std::size_t n);

/// Returns the one-sided Clopper-Pearson upper bound, at the given confidence, of a share that was
/// `successes` in n > 0 trials.
double share_upper_bound(std::size_t successes, std::size_t n, double confidence);

}  // namespace assay
