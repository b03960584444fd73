// What units of two environments say about a difference: the run-level statistics behind every
// verdict. Pure functions: no clocks, no I/O. Sources and simulated error rates: docs/method.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "statistics/summary.h"

namespace assay {

/// Fewest independent values for a verdict.
constexpr std::size_t least_units = 6;

/// Of paired log ratios d_i = y_B,i - y_A,i in time order. Means and intervals are log ratios too.
struct PairedEffect {
  std::size_t pairs = 0;
  /// Independent values: pairs, or half of them if neighbouring pairs depend on each other and were
  /// averaged two by two.
  std::size_t n = 0;
  double mean = 0;
  double median = 0;
  double deviation = 0;        ///< sample standard deviation of the n values
  double error = 0;            ///< standard error of the mean
  double freedom = 0;          ///< its degrees of freedom
  double autocorrelation = 0;  ///< of the pairs, lag 1
  Interval t90, t95;           ///< of the mean, Student's t
  Interval sign90, sign95;     ///< of the median, from order statistics
  double p_different = 1;      ///< the larger p of the two-sided t test and sign test
  double p_equal = 1;     ///< of mean and median both lying within the margin; below alpha is proof
                          ///< (docs/method.md)
  double detectable = 0;  ///< smallest effect found with 80% power at two-sided 5%; 0: unknown
  std::vector<std::size_t> outliers;  ///< pairs beyond max(margin / 2, 5 * 1.4826 * MAD)
  double outlier_share_limit = 1;     ///< 95% upper bound of their share, Clopper-Pearson
};

/// `margin` > 0 is a log ratio, e.g. ln 1.02. Intervals for which n is too small are infinite.
PairedEffect paired_effect(std::span<const double> differences, double margin);

/// The fallback for values without pairs: Welch's t on logarithms, B minus A. `n` and `pairs` are
/// the smaller side's count; there are no sign intervals and no outliers, and p_equal stays 1,
/// since drift between the two sides could imitate equality or hide it.
PairedEffect unpaired_effect(std::span<const double> a, std::span<const double> b);

/// Whether there are enough values for a verdict and both 90% intervals have half-widths of at most
/// this share of the margin. This ends a campaign; it looks at precision only, never at the
/// verdict.
bool precise_enough(const PairedEffect& effect, double margin, double share = 0.425);

/// Independent values needed to prove, with 90% power, on which side of a margin the mean lies, if
/// the margin is `distance` > 0 (a log ratio) away and the values have this `deviation`. An
/// estimate. At most 10,000.
std::size_t values_needed(double deviation, double distance);

}  // namespace assay
