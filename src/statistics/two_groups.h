// Tests whether values fall into two groups, like those of a fleet of which a part is slower. A
// median and a MAD are then meaningless for single values. Pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace assay {

struct TwoGroups {
  std::vector<std::size_t> low, high;  ///< indices of the values, in their order
  double distance = 0;                 ///< distance between the groups' medians
  /// An upper bound of the probability that the values of one group split like this.
  double p = 1;
};

/// Returns the best split of the values at a gap between them. Each side has at least a quarter of
/// the values and at least two; fewer values are outliers (outliers.h). Empty if there are fewer
/// than 4 values.
///
/// The statistic is c, the gap over the larger of the two groups' ranges. The gaps between n
/// uniform values are exponential, up to scale, so that P(gap > c A and gap > c B) <= E exp(-c (A +
/// B) / 2) = (1 + c / 2)^-(n - 2); times the number of splits, that is p. Among densities with one
/// peak the uniform one has the widest gaps: normal and heavy-tailed values split less often
/// (tests/bounds/outlier_rates_test.cpp).
std::optional<TwoGroups> two_groups(std::span<const double> values);

}  // namespace assay
