#include "statistics/two_groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "statistics/summary.h"

namespace assay {
namespace {

double median_at(std::span<const double> values, const std::vector<std::size_t>& indices) {
  std::vector<double> chosen;
  for (const std::size_t index : indices) chosen.push_back(values[index]);
  return median(std::move(chosen));
}

}  // namespace

std::optional<TwoGroups> two_groups(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 4) return std::nullopt;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t index) { return values[index]; });
  const auto at = [&](std::size_t place) { return values[order[place]]; };
  const std::size_t least = std::max<std::size_t>(2, (n + 3) / 4);
  std::size_t split = least;
  double most = -1;  // largest c; infinite if all values of each group are equal
  for (std::size_t k = least; k + least <= n; ++k) {
    const double gap = at(k) - at(k - 1);
    const double range = std::max(at(k - 1) - at(0), at(n - 1) - at(k));
    const double c = gap > 0 ? gap / range : 0;
    if (c > most) split = k;
    most = std::max(most, c);
  }
  TwoGroups groups;
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(split);
  groups.low.assign(order.begin(), middle);
  groups.high.assign(middle, order.end());
  std::ranges::sort(groups.low);
  std::ranges::sort(groups.high);
  groups.distance = median_at(values, groups.high) - median_at(values, groups.low);
  const auto splits = static_cast<double>(n - 2 * least + 1);
  groups.p = std::min(1.0, splits * std::pow(1 + most / 2, -static_cast<double>(n - 2)));
  return groups;
}

}  // namespace assay
