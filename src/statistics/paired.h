// What pairs of units say about a difference: the run-level statistics behind every verdict.
// Pure functions: no clocks, no I/O. Sources and simulated error rates: docs/method.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "statistics/summary.h"

namespace assay {

/// Of n paired log ratios d_i = y_B,i - y_A,i in time order. Intervals and means are in log ratios.
struct PairedEffect {
  std::size_t n = 0;
  double mean = 0;
  double median = 0;
  double deviation = 0;        ///< sample standard deviation
  double autocorrelation = 0;  ///< lag 1
  Interval t90, t95;           ///< of the mean, Student's t
  Interval sign90,
      sign95;  ///< of the median, by order statistics; the whole range if n is too small
  double p_different = 1;  ///< the larger of the two-sided t and sign tests'
  double p_equal = 1;      ///< the larger of the t-TOST's and the sign-TOST's, both at the margin
  double detectable = 0;   ///< smallest log ratio found with 80% power at two-sided 5%; 0: n < 2
  std::vector<std::size_t> outliers;  ///< indices of units beyond max(margin / 2, 5 * 1.4826 * MAD)
  double outlier_share_limit = 1;     ///< Clopper-Pearson 95% upper bound of their share
};

/// `margin` > 0 is a log ratio, e.g. ln 1.02. Any n; with n < 2 the intervals are infinite.
PairedEffect paired_effect(std::span<const double> differences, double margin);

/// The unpaired fallback: Welch on run-level values, B minus A. `n` is the smaller arm's; sign
/// intervals and outliers stay empty, p_equal stays 1: unpaired data can prove no equality.
PairedEffect unpaired_effect(std::span<const double> a, std::span<const double> b, double margin);

/// Whether both 90% intervals are at most half the margin wide on either side: the rule that ends a
/// campaign. It looks at precision only, never at the verdict.
bool precise_enough(const PairedEffect& effect, double margin);

}  // namespace assay
