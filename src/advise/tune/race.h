// Successive halving: all contenders run briefly, the better ones longer, until one is left.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace assay {

/// Runs a contender once, `effort` times as long as the shortest run, and returns its score: the
/// natural logarithm of a speed, so that differences of scores are relative. Empty: it failed and
/// leaves the race. An error ends the race.
using RunContender =
    std::function<Result<std::optional<double>>(std::size_t contender, std::size_t effort)>;

struct RaceRules {
  /// After a round, one in `fraction` contenders continues to the next round, which takes
  /// `fraction` times the effort, so that every round costs the same. At least 2.
  std::size_t fraction = 2;
  /// Whether a round gives each contender one run of its full effort. Otherwise contenders take
  /// turns in runs of effort 1.
  bool longer_runs = false;
  /// The effort of the longest round, after which the contenders left are ranked. At least 1.
  std::size_t most_effort = 64;
  /// Contenders within this score of the best always continue, because short runs cannot tell them
  /// apart. This is meant for hundreds of contenders whose first runs are very short.
  double indistinct = 0;
};

/// The state of a contender when it left the race.
struct Standing {
  std::size_t contender = 0;
  std::optional<double> score;  ///< mean over its runs, weighted by effort; empty: it failed
  std::size_t effort = 0;       ///< total over its runs
};

/// Races the contenders and returns them best first: the winner, then those that lost in the last
/// round, and so on; failed ones come last. Successive passes run the contenders in opposite
/// orders, so that drift affects all alike, and contenders are compared only on the same passes.
/// Empty if there are no `contenders`. Error: from `run`.
Result<std::vector<Standing>> race(const std::vector<std::size_t>& contenders,
                                   const RaceRules& rules, const RunContender& run);

/// Returns the cost of a race in runs of effort 1, if no contender fails and `indistinct` is 0.
std::size_t cost_of_race(std::size_t contenders, const RaceRules& rules);

}  // namespace assay
