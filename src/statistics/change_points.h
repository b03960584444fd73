// Finds where a series of values changed its level. Pure functions.
//
// E-divisive (Matteson & James 2014, "A nonparametric approach for multiple change point analysis
// of multivariate data") finds the position that splits a stretch of the series best, then searches
// both sides again. Three details follow Hunter (Fleming et al. 2023, "Hunter: using change point
// detection to hunt for performance regressions", doi 10.1145/3578244.3583719; continued as Apache
// Otava). Student's t test judges a split instead of random permutations. The series is searched in
// windows that overlap by half. Splits are first accepted at ten times the requested p (twice from
// 0.05 on); then the weakest one is removed repeatedly, and its neighbours' t tests are repeated.
// Measured error rates: docs/method.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay {

struct ChangePointRule {
  std::size_t window = 50;  ///< values searched together, at least 4
  double p = 0.001;         ///< each change point's t test has a p below this
  double magnitude = 0;     ///< smallest absolute step, in the unit of the values
};

struct ChangePoint {
  std::size_t index = 0;  ///< index of the first value after the change
  double step = 0;        ///< mean up to the next change point minus mean since the previous one
  double p = 1;           ///< two-sided p of that t test, without any correction
};

/// Returns change points sorted by index. `values` must be finite. Each side of a change has at
/// least two values, because a single one may be an outlier.
std::vector<ChangePoint> find_change_points(std::span<const double> values,
                                            const ChangePointRule& rule);

}  // namespace assay
