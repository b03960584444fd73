// Successive halving: all contenders run briefly, the better ones longer, until one is left.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay {

/// Runs a contender once, `effort` times as long as the shortest run, and scores it: the natural
/// logarithm of a speed, so that differences of scores are relative; more is better. Empty: it
/// failed, and is out. An error ends the race.
using RunContender =
    std::function<Result<std::optional<double>>(std::size_t contender, std::size_t effort)>;

struct RaceRules {
  /// After a round, one in so many goes on, to a round that takes each so many times the effort:
  /// every round costs the same. At least 2.
  std::size_t fraction = 2;
  /// A round's effort in one longer run; otherwise in that many runs of effort 1, in turns.
  bool longer_runs = false;
  /// No round takes more: those who are left then are ranked as they stand. At least 1.
  std::size_t most_effort = 64;
  /// Nobody is dropped who scores at most this much less than the best: runs this short cannot
  /// tell them apart. For contenders by the hundred whose first runs are very short.
  double indistinct = 0;
};

/// What is known about a contender when it left the race.
struct Standing {
  std::size_t contender = 0;
  std::optional<double> score;  ///< mean over its runs, weighted by effort; empty: it failed
  std::size_t effort = 0;       ///< in all its runs
};

/// Best first: the winner, then those it beat in the last round, and so on; the failed ones last.
/// In each pass over the contenders the order is the reverse of the one before, so that a drift
/// meets all alike, and all that are compared have run in the same passes. Empty if there are no
/// `contenders`. Error: from `run`.
Result<std::vector<Standing>> race(const std::vector<std::size_t>& contenders,
                                   const RaceRules& rules, const RunContender& run);

/// What a race of so many contenders costs, in runs of effort 1, if none fails and `indistinct` is
/// 0.
std::size_t cost_of_race(std::size_t contenders, const RaceRules& rules);

}  // namespace assay
