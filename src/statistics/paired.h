// What units of two environments say about a difference: the run-level statistics behind every
// verdict. Pure functions: no clocks, no I/O. Sources and simulated error rates: docs/method.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "statistics/paired_series.h"
#include "statistics/summary.h"

namespace assay {

/// Fewest units, or pairs of them, for a verdict.
constexpr std::size_t least_units = 6;
/// Above this autocorrelation of neighbouring pairs no sample says how far its mean may be from the
/// true one.
constexpr double most_dependence = 0.5;

/// Of paired log ratios d_i = y_B,i - y_A,i in time order. Means and intervals are log ratios too.
struct PairedEffect {
  std::size_t pairs = 0;
  /// Independent values that have as precise a mean: fewer than `pairs` if neighbouring pairs
  /// depend on each other.
  double n = 0;
  double mean = 0;
  double median = 0;
  double deviation = 0;     ///< standard deviation of a pair
  double error = 0;         ///< standard error of the mean
  double freedom = 0;       ///< its degrees of freedom
  double dependence = 0;    ///< autocorrelation of neighbouring pairs that was allowed for
  Interval t90, t95;        ///< of the mean, Student's t; see drifts()
  Interval sign90, sign95;  ///< of the median, from order statistics
  double p_equal = 1;     ///< of mean and median both lying within the margin; below alpha is proof
                          ///< (docs/method.md)
  double detectable = 0;  ///< smallest effect found with 80% power at two-sided 5%; 0: unknown
  std::vector<std::size_t> outliers;  ///< pairs beyond max(margin / 2, 5 * 1.4826 * MAD)
  double outlier_share_limit = 1;     ///< 95% upper bound of their share, Clopper-Pearson

  /// A side drifts by itself: neighbouring pairs are so alike that nothing follows from their
  /// spread. The intervals are then the mean and eight deviations on both sides, a rule of thumb
  /// with simulated error rates (docs/method.md).
  bool drifts() const { return dependence > most_dependence; }
};

/// `margin` > 0 is a log ratio, e.g. ln 1.02; `dependence` is the autocorrelation of neighbouring
/// pairs to allow for, as find_dependence() gives it. Intervals for which n is too small are
/// infinite.
PairedEffect paired_effect(std::span<const double> differences, double margin,
                           double dependence = 0);
/// The effects of several series, whose dependence is found together.
std::vector<PairedEffect> paired_effects(std::span<const PairedSeries> family, double margin);

/// Takes what A measured twice shows for the noise of this machine; `control` has the differences
/// of A' and A. An outlier that lies no farther from the median than twice what the control ever
/// did is none. Where the control spreads at least half as widely (by the MAD) the noise is not B's
/// own, and p_equal needs no correction for a slow tail of B: without it, a mean at the margin is
/// called equal in at most 6% of simulated cases.
void allow_for_control(PairedEffect& effect, std::span<const double> differences,
                       std::span<const double> control, double margin);

/// The fallback for values without pairs: Welch's t on logarithms, B minus A. `n` and `pairs` are
/// the smaller side's count; there are no sign intervals and no outliers, and p_equal stays 1,
/// since drift between the two sides could imitate equality or hide it.
PairedEffect unpaired_effect(std::span<const double> a, std::span<const double> b);

/// The p of Student's t test of the mean against `bound`; 1 if there are too few values for one.
double t_test(const PairedEffect& effect, Alternative alternative, double bound);

/// Whether there are enough values for a verdict and both 90% intervals have half-widths of at most
/// this share of the margin. This ends a campaign; it looks at precision only, never at the
/// verdict.
bool precise_enough(const PairedEffect& effect, double margin, double share = 0.425);

/// Independent values needed to prove, with 90% power, on which side of a margin the mean lies, if
/// the margin is `distance` > 0 (a log ratio) away and the values have this `deviation`. An
/// estimate. At most 10,000.
std::size_t values_needed(double deviation, double distance);

}  // namespace assay
