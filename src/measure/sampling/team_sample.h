// A sample of work that the ranks of a team do together: each rank's time, and whether to stop.
// Rank 0 decides, because ranks deciding for themselves would diverge.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/result.h"
#include "ranks/team/team.h"
#include "results/record/sample.h"

namespace assay {

struct TeamSample {
  std::vector<double> by_rank;  ///< seconds
  bool throttled = false;       ///< any rank was throttled
  std::optional<StopReason> stop;
  /// A team is as slow as its slowest rank.
  double slowest() const;
};

/// `mine` is what this rank measured, or its error. Rank 0 calls `rule` with the slowest rank's
/// seconds; `stop_asked` on any rank stops sampling on all. Error: that of the first rank with one,
/// with its name; as from Team::decide().
Result<TeamSample> agree_on_sample(Team& team, const Result<Sample>& mine, bool stop_asked,
                                   const std::function<std::optional<StopReason>(double)>& rule);

/// How long each rank spent in single operations that all ranks began at once.
struct Arrivals {
  std::vector<double> inside;  ///< seconds, by rank: the median of several operations
  int last = 0;                ///< the rank with the shortest time inside
  /// Typical seconds that the others waited for that rank; 0 if not clearly above the normal spread
  /// between ranks.
  double waited = 0;
};

/// Finds the straggler. A synchronising operation ends on all ranks at once, so the rank with the
/// shortest time inside started last. Waiting counts only above a fifth of the operation and above
/// 0.2 ms plus 20 us per rank; less may be caused by the messages that start the ranks.
Arrivals judge_arrivals(std::vector<double> inside);

}  // namespace assay
