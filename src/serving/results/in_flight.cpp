#include "serving/results/in_flight.h"

#include <algorithm>
#include <utility>

namespace assay {

InFlight::InFlight(const std::vector<Presence>& presences) {
  std::vector<std::pair<double, int>> events;  // ends (0) sort before beginnings (1)
  events.reserve(2 * presences.size());
  for (const Presence& presence : presences) {
    // Because ends sort first, a request of no duration would leave before it came.
    if (!(presence.begin < presence.end)) continue;
    events.emplace_back(presence.begin, 1);
    events.emplace_back(presence.end, 0);
  }
  std::sort(events.begin(), events.end());
  steps_.reserve(events.size());
  std::size_t level = 0;
  for (const auto& [seconds, begins] : events) {
    if (begins == 1) ++level;
    if (begins == 0) --level;
    steps_.push_back({seconds, level});
  }
}

std::size_t InFlight::most() const {
  std::size_t most = 0;
  for (const Step& step : steps_) most = std::max(most, step.level);
  return most;
}

std::size_t InFlight::at(double seconds) const {
  const auto after =
      std::upper_bound(steps_.begin(), steps_.end(), seconds,
                       [](double moment, const Step& step) { return moment < step.seconds; });
  return after == steps_.begin() ? 0 : std::prev(after)->level;
}

std::optional<Presence> InFlight::at_least(double level) const {
  const auto enough = [&](const Step& step) { return static_cast<double>(step.level) >= level; };
  const auto first = std::find_if(steps_.begin(), steps_.end(), enough);
  if (first == steps_.end()) return std::nullopt;
  const auto last = std::find_if(steps_.rbegin(), steps_.rend(), enough);
  return Presence{first->seconds, last.base()->seconds};  // the level ends at the next step
}

}  // namespace assay
