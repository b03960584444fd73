// Tests whether values fall into two groups, such as the times of a fleet in which half of the
// nodes are slower. If they do, neither the median nor the median absolute deviation (MAD) of all
// values can tell whether a single one is an outlier. Pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace assay {

struct TwoGroups {
  std::vector<std::size_t> low, high;  ///< indices of each group's values, ascending
  double distance = 0;                 ///< the median of `high` minus the median of `low`
  /// An upper bound of the probability that values of a single group split at least as clearly.
  double p = 1;
};

/// Returns the split at the gap between two values that separates the groups most clearly; `p` says
/// whether it is significant. Each group has at least a quarter of the values and at least two,
/// because a smaller group consists of outliers (outliers.h). Empty if there are fewer than 4
/// values.
///
/// The statistic c is the gap divided by the larger of A and B, the ranges of the two groups
/// (largest minus smallest value). The gaps between n uniform values are exponential, up to scale.
/// Therefore P(gap > c A and gap > c B) <= E exp(-c (A + B) / 2) = (1 + c / 2)^-(n - 2). This bound
/// times the number of possible splits is `p`. Among densities with one peak the uniform one has
/// the widest gaps: normal and heavy-tailed values split less often
/// (tests/bounds/statistics/outlier_rates_test.cpp).
std::optional<TwoGroups> two_groups(std::span<const double> values);

}  // namespace assay
