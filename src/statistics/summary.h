// Summary of one cell's samples: quantiles and the order-statistic interval of the median.
// Pure functions: no clocks, no I/O. Sources: docs/method.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay {

struct Interval {
  double low = 0;
  double high = 0;
};

inline bool excludes_zero(const Interval& interval) {
  return interval.low > 0 || interval.high < 0;
}

/// Returns 0 for no values.
double mean(std::span<const double> values);

/// Returns the linearly interpolated quantile (Hyndman & Fan type 7) of sorted, non-empty `sorted`;
/// 0 <= q <= 1.
double quantile(std::span<const double> sorted, double q);

/// Returns the quantile() of `values` in any order; 0 for no values.
double quantile_of(std::vector<double> values, double q);

/// Returns the median of `values`, which must not be empty and can be in any order. For an even
/// number of values it is the mean of the middle two.
double median(std::vector<double> values);

/// Returns the square root of the unbiased variance; 0 for fewer than 2 values.
double sample_deviation(std::span<const double> values);

/// Returns the square root of the mean squared deviation, like numpy's std; 0 for no values.
double population_deviation(std::span<const double> values);

/// Returns the lag-1 autocorrelation of `values` in time order; 0 for fewer than 3 values or no
/// variance.
double autocorrelation(std::span<const double> values);

/// Returns the number of independent values whose mean is as precise as that of n values with the
/// lag-1 autocorrelation rho: n (1 - rho) / (1 + rho), with negative rho taken as 0, limited to 1
/// to n.
double effective_count(std::size_t n, double rho);

/// Returns the distribution-free interval of the quantile `q` in (0, 1) of non-empty `sorted` with
/// at least the given coverage (0.95), from the binomial distribution. `effective`, such as
/// effective_count(), widens it for dependent samples; with sorted.size() they count as
/// independent. With too few samples for the coverage, an end is the minimum or maximum.
Interval quantile_interval(std::span<const double> sorted, double q, double coverage,
                           double effective);

/// Returns the quantile_interval() of the median.
Interval median_interval(std::span<const double> sorted, double coverage, double effective);

struct Summary {
  std::size_t n = 0;
  double effective_n = 0;  ///< effective_count() of n and autocorrelation
  double autocorrelation = 0;
  double minimum = 0, q1 = 0, median = 0, q3 = 0, p95 = 0, maximum = 0, mean = 0;
  Interval interval95;  ///< median_interval() with coverage 0.95 and effective_n
};

/// Summarizes `values`, which must not be empty and, for the autocorrelation, be in time order.
Summary summarize(std::span<const double> values);

}  // namespace assay
