// The distributions that tests need. Boost.Math computes them; this keeps its headers in one file.
#pragma once

#include <cstddef>

namespace assay {

/// P(T <= t) and its inverse, Student's t with `freedom` > 0 degrees; 0 < probability < 1.
double student_t_cdf(double t, double freedom);
double student_t_quantile(double probability, double freedom);

double normal_cdf(double z);
/// 0 < probability < 1.
double normal_quantile(double probability);

/// P(X <= successes) of n fair coins; 0 <= successes <= n.
double coin_cdf(std::size_t successes, std::size_t n);

/// Clopper-Pearson: the one-sided upper bound, at the given confidence, of a share of which
/// `successes` of n > 0 were seen.
double share_upper_bound(std::size_t successes, std::size_t n, double confidence);

}  // namespace assay
