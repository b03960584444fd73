// One sample of work that the ranks of a team do together: what each saw, and whether that was
// enough. Rank 0 decides, since ranks that decided for themselves would part.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/result.h"
#include "measure/sampling/sample.h"
#include "ranks/team/team.h"

namespace assay {

struct TeamSample {
  std::vector<double> by_rank;  ///< seconds
  std::optional<StopReason> stop;
  /// A team is as slow as its slowest rank.
  double slowest() const;
};

/// `mine` is the seconds this rank saw or why it has none; `rule` is asked on rank 0 with the
/// slowest rank's seconds, `stop_asked` anywhere ends the sampling everywhere. Error: the first
/// rank's that has one, named; as Team::decide.
Result<TeamSample> agree_on_sample(Team& team, const Result<double>& mine, bool stop_asked,
                                   const std::function<std::optional<StopReason>(double)>& rule);

/// How long each rank was inside single operations that all began at once.
struct Arrivals {
  std::vector<double> inside;  ///< seconds, by rank: the median of several operations
  int last = 0;                ///< the rank that was inside for the shortest time
  /// Seconds that the others waited for it, typically; 0 if not clearly more than ranks differ
  /// anyway.
  double waited = 0;
};

/// An operation in which all wait for all ends everywhere at once, so who was inside for the
/// shortest time came last. Waiting counts from a fifth of the operation and 0.2 ms, and
/// 20 us for each rank, on: below, the
/// messages that make ranks begin at once may be the cause.
Arrivals judge_arrivals(std::vector<double> inside);

}  // namespace assay
