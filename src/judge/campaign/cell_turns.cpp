#include "judge/campaign/cell_turns.h"

#include <algorithm>

namespace assay {

const std::vector<std::size_t>& CellTurns::last_in(std::size_t pair) {
  const auto [known, fresh] = last_.try_emplace(pair);
  std::vector<std::size_t>& last = known->second;
  if (!fresh || !too_short_) return last;
  const double share = *unit_seconds_ / static_cast<double>(cells_);
  for (const auto& [cell, seconds] : seconds_) {
    if (seconds > share) last.push_back(cell);
  }
  if (!last.empty()) {
    std::rotate(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(pair % last.size()),
                last.end());
  }
  return last;
}

void CellTurns::learn(std::size_t pair, const std::vector<CellTime>& measured) {
  if (!unit_seconds_) return;
  cells_ = measured.size();
  const std::vector<std::size_t>& last = last_in(pair);
  std::vector<std::size_t> order;
  for (std::size_t cell = 0; cell < cells_; ++cell) {
    if (std::find(last.begin(), last.end(), cell) == last.end()) order.push_back(cell);
  }
  order.insert(order.end(), last.begin(), last.end());
  for (std::size_t i = 0; i < std::min(order.size(), measured.size()); ++i) {
    too_short_ = too_short_ || measured[i].starved;
    if (!measured[i].starved) seconds_[order[i]] = measured[i].seconds;
  }
}

}  // namespace assay
