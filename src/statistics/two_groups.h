// Whether values fall into two groups, as those of a fleet do of which a part is slower: then a
// median and a MAD say nothing of the single ones. Pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace assay {

struct TwoGroups {
  std::vector<std::size_t> low, high;  ///< indices of the values, in their order
  double distance = 0;                 ///< between the groups' medians
  /// A bound on the chance that as many values of one group fall apart like this.
  double p = 1;
};

/// The most telling split of the values at a gap between them, each side with at least a quarter of
/// them and two: fewer are outliers (outliers.h). Empty if there are fewer than 4 values.
///
/// The statistic is c, the gap over the larger of the two groups' ranges. Of n uniform values the
/// gaps between neighbours are exponential, up to scale, so that P(gap > c A and gap > c B) <=
/// E exp(-c (A + B) / 2) = (1 + c / 2)^-(n - 2); times the number of splits, that is p. Of
/// densities with one peak the uniform one has the widest gaps within: normal and heavy-tailed
/// values fall apart less often (tests/bounds/outlier_rates_test.cpp).
std::optional<TwoGroups> two_groups(std::span<const double> values);

}  // namespace assay
