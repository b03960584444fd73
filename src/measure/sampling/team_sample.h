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

/// One sample, taken by all ranks of a team.
struct TeamSample {
  std::vector<double> by_rank;     ///< Sample::seconds of each rank; 0 if it takes no part
  bool throttled = false;          ///< any rank was throttled
  std::optional<StopReason> stop;  ///< why this sample is the last one; empty: it is not
  /// A team is as slow as its slowest rank.
  double slowest() const;
};

/// `mine` is what this rank measured, or its error. Only rank 0 calls `rule`, with the slowest
/// rank's seconds; `stop_asked` on any rank stops sampling on all. Error: as first_error()
/// (ranks/team/agreement.h); this rank's own error, or else that of Team::decide(), if the ranks
/// cannot communicate.
Result<TeamSample> agree_on_sample(Team& team, const Result<Sample>& mine, bool stop_asked,
                                   const std::function<std::optional<StopReason>(double)>& rule);

/// How long each rank spent in single operations that all ranks began at once.
struct Arrivals {
  std::vector<double> inside;  ///< seconds of each rank: the median of several operations
  int last = 0;                ///< the index in `inside` of the shortest time
  /// Typical seconds that the others waited for that rank; 0 if not clearly above the normal spread
  /// between ranks.
  double waited = 0;
};

/// Finds the straggler; `inside`, not empty, becomes Arrivals::inside. A synchronising operation
/// ends on all ranks at once, so the rank with the shortest time inside started last. Waiting
/// counts only above a fifth of the operation and above 0.2 ms plus 20 us per rank; less may be
/// caused by the messages that start the ranks.
Arrivals judge_arrivals(std::vector<double> inside);

}  // namespace assay
