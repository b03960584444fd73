// How many requests were in flight at every moment, found exactly by a sweep over all beginnings
// and ends.
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
  /// Who leaves at the moment that another one comes is not counted together with it.
  explicit InFlight(const std::vector<Presence>& presences);

  std::size_t most() const;
  /// Just after that moment.
  std::size_t at(double seconds) const;
  /// From when there first were at least `level` > 0 until that last ended.
  std::optional<Presence> at_least(double level) const;

 private:
  struct Step {
    double seconds = 0;
    std::size_t level = 0;  ///< from then on
  };
  std::vector<Step> steps_;
};

}  // namespace assay
