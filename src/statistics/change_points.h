// Where a series of values changed its level. Pure functions.
//
// E-divisive (Matteson & James 2014, "A nonparametric approach for multiple change point analysis
// of multivariate data") finds the place that splits a stretch of the series best, then looks again
// on either side. As in Hunter (Fleming et al. 2023, "Hunter: using change point detection to hunt
// for performance regressions", doi 10.1145/3578244.3583719; continued as Apache Otava) Student's t
// test judges a place instead of random permutations, windows bound what is looked at together, and
// weak places found at ten times the wanted p are then removed one by one, the weakest first, while
// the t tests of their neighbours are made anew. Measured error rates: docs/method.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay {

struct ChangePointRule {
  std::size_t window = 50;  ///< values looked at together
  double p = 0.001;         ///< a change point's t test lies below it
  double magnitude = 0;     ///< least absolute step
};

struct ChangePoint {
  std::size_t index = 0;  ///< of the first value after the change
  double step = 0;        ///< mean from here to the next change point less mean since the last one
  double p = 1;           ///< of that t test, two-sided; not corrected for the choice of the place
};

/// In the order of the values, which are finite. A change has at least two values on either side:
/// one alone may be an outlier.
std::vector<ChangePoint> find_change_points(std::span<const double> values,
                                            const ChangePointRule& rule);

}  // namespace assay
