#include "statistics/change_points.h"

#include <algorithm>
#include <cmath>

#include "statistics/distributions.h"

namespace assay {
namespace {

using Values = std::span<const double>;

constexpr std::size_t least_side = 2;

struct Side {
  double mean = 0;
  double squares = 0;  ///< sum of squared deviations
};

Side side_of(Values values) {
  Side side;
  for (const double value : values) side.mean += value;
  side.mean /= static_cast<double>(values.size());
  for (const double value : values) {
    side.squares += (value - side.mean) * (value - side.mean);
  }
  return side;
}

/// Returns Student's t test, with equal variances, of the values before `index` against the others.
ChangePoint tested(Values before, Values after, std::size_t index) {
  const Side left = side_of(before), right = side_of(after);
  ChangePoint point{index, right.mean - left.mean, 1};
  const auto m = static_cast<double>(before.size()), n = static_cast<double>(after.size());
  const double freedom = m + n - 2;
  if (!(freedom > 0) || point.step == 0) return point;
  const double variance = (left.squares + right.squares) / freedom * (1 / m + 1 / n);
  point.p =
      variance > 0 ? 2 * student_t_cdf(-std::abs(point.step) / std::sqrt(variance), freedom) : 0;
  return point;
}

/// Returns the k for which the first k values are farthest from the rest: the energy distance of
/// Matteson & James with exponent 1, from running sums of distances. 0 if no distance is positive.
std::size_t best_split(Values values) {
  const std::size_t count = values.size();
  double between = 0, left = 0, right = 0, best = 0;
  std::size_t best_k = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) right += std::abs(values[i] - values[j]);
  }
  for (std::size_t k = 1; k + least_side <= count; ++k) {
    // Sums of distances from the value that changes sides to both sides.
    double to_left = 0, to_right = 0;
    for (std::size_t i = 0; i < count; ++i) {
      (i < k ? to_left : to_right) += std::abs(values[i] - values[k - 1]);
    }
    between += to_right - to_left;
    left += to_left;
    right -= to_right;
    if (k < least_side) continue;
    const auto m = static_cast<double>(k), n = static_cast<double>(count - k);
    const double energy =
        2 * between / (m * n) - 2 * left / (m * (m - 1)) - 2 * right / (n * (n - 1));
    const double distance = energy * m * n / (m + n);
    if (distance > best) {
      best = distance;
      best_k = k;
    }
  }
  return best_k;
}

/// Splits [begin, end) if that is significant, then splits the parts.
void divide(Values values, std::size_t begin, std::size_t end, double p,
            std::vector<std::size_t>& found) {
  const Values stretch = values.subspan(begin, end - begin);
  const std::size_t k = best_split(stretch);
  if (k == 0 || !(tested(stretch.first(k), stretch.subspan(k), 0).p < p)) return;
  divide(values, begin, begin + k, p, found);
  found.push_back(begin + k);
  divide(values, begin + k, end, p, found);
}

std::vector<std::size_t> weak_places(Values values, const ChangePointRule& rule) {
  const std::size_t window = std::max<std::size_t>(rule.window, 2 * least_side);
  const double p = rule.p < 0.05 ? 10 * rule.p : std::min(1.0, 2 * rule.p);
  std::vector<std::size_t> places;
  for (std::size_t begin = 0; begin < values.size();) {
    std::vector<std::size_t> found;
    divide(values, begin, std::min(begin + window, values.size()), p, found);
    places.insert(places.end(), found.begin(), found.end());
    begin = std::max(found.empty() ? 0 : found.back(), begin + window / 2);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

/// The change points. Each one bounds the stretches that its neighbours' tests use.
class Places {
 public:
  Places(Values values, const std::vector<std::size_t>& places) : values_(values) {
    for (const std::size_t place : places) points_.push_back({place, 0, 1});
    for (std::size_t i = 0; i < points_.size(); ++i) test(i);
  }

  /// Removes the weakest point until all satisfy the rule.
  void merge(const ChangePointRule& rule) {
    while (!points_.empty()) {
      auto weakest =
          std::max_element(points_.begin(), points_.end(),
                           [](const ChangePoint& a, const ChangePoint& b) { return a.p < b.p; });
      if (weakest->p < rule.p) {
        weakest = std::min_element(points_.begin(), points_.end(),
                                   [](const ChangePoint& a, const ChangePoint& b) {
                                     return std::abs(a.step) < std::abs(b.step);
                                   });
        if (std::abs(weakest->step) >= rule.magnitude) return;
      }
      const auto at = static_cast<std::size_t>(weakest - points_.begin());
      points_.erase(weakest);
      if (at > 0) test(at - 1);
      if (at < points_.size()) test(at);
    }
  }

  std::vector<ChangePoint> take() { return std::move(points_); }

 private:
  void test(std::size_t i) {
    const std::size_t begin = i == 0 ? 0 : points_[i - 1].index;
    const std::size_t end = i + 1 == points_.size() ? values_.size() : points_[i + 1].index;
    const std::size_t index = points_[i].index;
    points_[i] =
        tested(values_.subspan(begin, index - begin), values_.subspan(index, end - index), index);
  }

  Values values_;
  std::vector<ChangePoint> points_;
};

}  // namespace

std::vector<ChangePoint> find_change_points(Values values, const ChangePointRule& rule) {
  Places places(values, weak_places(values, rule));
  places.merge(rule);
  return places.take();
}

}  // namespace assay
