#include "statistics/multiplicity.h"

#include <algorithm>
#include <numeric>

namespace assay {
namespace {

std::vector<std::size_t> by_size(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  return order;
}

}  // namespace

std::vector<bool> holm(std::span<const double> p, double alpha) {
  std::vector<bool> rejected;
  for (const double value : holm_adjusted(p)) rejected.push_back(value <= alpha);
  return rejected;
}

std::vector<double> holm_adjusted(std::span<const double> p) {
  std::vector<double> adjusted(p.size());
  const std::vector<std::size_t> order = by_size(p);
  double before = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    before = std::max(before, p[order[i]] * static_cast<double>(p.size() - i));
    adjusted[order[i]] = std::min(1.0, before);
  }
  return adjusted;
}

}  // namespace assay
