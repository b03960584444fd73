// Distributions for statistical tests. Boost.Math computes them; only distributions.cpp includes
// it.
#pragma once

#include <cstddef>

namespace assay {

/// Return P(T <= t), and its inverse, of Student's t; degrees_of_freedom > 0 may be fractional, and
/// 0 < probability < 1. Here as below, other arguments give NaN or infinity, never an exception.
double student_t_cdf(double t, double degrees_of_freedom);
double student_t_quantile(double probability, double degrees_of_freedom);

/// Returns the inverse of the standard normal distribution's P(X <= x); 0 < probability < 1.
double normal_quantile(double probability);

/// Returns P(X <= successes) for X successes in n trials of probability 1/2; 0 <= successes <= n.
double coin_cdf(std::size_t successes, std::size_t n);

/// Returns P(X <= successes) for X successes in n > 0 trials; 0 <= successes <= n, 0 < probability
/// < 1.
double binomial_cdf(std::size_t successes, std::size_t n, double probability);

/// Return P(T <= t), and its inverse, of the noncentral t distribution; 0 < probability < 1.
double noncentral_t_cdf(double t, double degrees_of_freedom, double noncentrality);
double noncentral_t_quantile(double probability, double degrees_of_freedom, double noncentrality);

/// Returns the one-sided Clopper-Pearson upper bound of the probability of success, after
/// `successes` in n > 0 trials; 0 < confidence < 1. It is 1 if all succeeded.
double share_upper_bound(std::size_t successes, std::size_t n, double confidence);

}  // namespace assay
