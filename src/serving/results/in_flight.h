// How many requests were in flight at every moment, computed exactly by a sweep over all begin and
// end times.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace assay {

/// One request's time in flight, seconds; begin <= end.
struct Presence {
  double begin = 0, end = 0;
};

class InFlight {
 public:
  /// A request that ends at the moment another begins does not overlap it, and one without duration
  /// does not count.
  explicit InFlight(const std::vector<Presence>& presences);

  std::size_t most() const;  ///< requests in flight at once
  /// Returns the number just after that moment.
  std::size_t at(double seconds) const;
  /// From the first moment with at least `level` > 0 in flight until the last; empty: never.
  std::optional<Presence> at_least(double level) const;

 private:
  struct Step {
    double seconds = 0;
    std::size_t level = 0;  ///< requests in flight from then on
  };
  std::vector<Step> steps_;
};

}  // namespace assay
