// Measures the difference between the units of two environments: the run-level statistics behind
// every verdict. Pure functions: no clocks, no I/O. Sources and simulated error rates:
// docs/method.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "statistics/paired_series.h"
#include "statistics/summary.h"

namespace assay {

/// The least number of units, or pairs of units, for a verdict.
constexpr std::size_t least_units = 6;
/// Above this autocorrelation of neighbouring pairs, no sample can tell how far its mean may be
/// from the true one.
constexpr double most_dependence = 0.5;

/// The effect in paired log ratios d_i = y_B,i - y_A,i in time order, where y is the logarithm of a
/// time. Mean, median, deviations and intervals are log ratios, too.
struct PairedEffect {
  std::size_t pairs = 0;
  /// Number of independent values whose mean is equally precise; it is below `pairs` if
  /// neighbouring pairs depend on each other.
  double n = 0;
  double mean = 0;
  double median = 0;
  double deviation = 0;     ///< standard deviation of a pair
  double error = 0;         ///< standard error of the mean
  double freedom = 0;       ///< its degrees of freedom
  double dependence = 0;    ///< allowed-for autocorrelation of neighbouring pairs
  Interval t90, t95;        ///< intervals of the mean, Student's t; see drifts()
  Interval sign90, sign95;  ///< intervals of the median, from order statistics
  double p_equal = 1;  ///< of mean and median both lying within the margin; below alpha is proof
                       ///< (docs/method.md)
  /// Smallest effect found with 80% power at two-sided 5%; eight deviations if drifts(). 0:
  /// unknown, or all differences are equal.
  double detectable = 0;
  /// Indices of differences farther from the median than max(margin / 2, 5 * 1.4826 * MAD).
  std::vector<std::size_t> outliers;
  double outlier_share_limit = 1;  ///< 95% upper bound of the share of outliers, Clopper-Pearson

  /// Returns whether a side drifts by itself: neighbouring pairs are so similar that their spread
  /// proves nothing. `t90` and `t95` are then the mean and eight deviations on both sides, a rule
  /// of thumb with simulated error rates (docs/method.md).
  bool drifts() const { return dependence > most_dependence; }
};

/// Returns the effect in `differences`. `margin` > 0 is a log ratio, e.g. ln 1.02. `dependence` is
/// the autocorrelation of neighbouring pairs to allow for, as returned by find_dependence().
/// Intervals for which n is too small are infinite. With fewer than two differences p_equal is 1.
PairedEffect paired_effect(std::span<const double> differences, double margin,
                           double dependence = 0);
/// Returns the effects of several series, whose dependence is estimated together.
std::vector<PairedEffect> paired_effects(std::span<const PairedSeries> family, double margin);

/// Uses A', a second measurement of A, as an estimate of this machine's noise. `effect` is the
/// result of paired_effect() for `differences`; `control` has the differences A' - A. Does nothing
/// if either has fewer than least_units values. An outlier no farther from the median than twice
/// the control's largest distance from its median is dropped. If the control spreads at least half
/// as widely (by the MAD), the noise is not specific to B, and p_equal needs no correction for a
/// slow tail of B. Without this correction, a mean at the margin is called equal in at most 6% of
/// simulated cases.
void allow_for_control(PairedEffect& effect, std::span<const double> differences,
                       std::span<const double> control, double margin);

/// The fallback for values without pairs: Welch's t test on `a` and `b`, logarithms of times. `n`
/// and `pairs` are the smaller side's count, and `median` is the mean. Sign intervals are infinite,
/// there are no outliers, and p_equal stays 1, because drift between the two sides could imitate
/// equality or hide it.
PairedEffect unpaired_effect(std::span<const double> a, std::span<const double> b);

/// Returns the p of Student's t test of the mean against `bound`; 1 if there are too few values for
/// it, or all are equal to `bound`.
double t_test(const PairedEffect& effect, Alternative alternative, double bound);

/// Returns whether there are enough values for a verdict and both 90% intervals have half-widths of
/// at most this share of the margin. This ends a campaign, so it looks only at precision and never
/// at the verdict.
bool precise_enough(const PairedEffect& effect, double margin, double share = 0.425);

/// Estimates how many independent values are needed to prove, with 90% power, on which side of a
/// margin the mean lies. The margin is `distance` > 0 (a log ratio) away, and the values have this
/// `deviation`. At most 10,000.
std::size_t values_needed(double deviation, double distance);

}  // namespace assay
