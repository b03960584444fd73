// The proof that ends every tuning. It compares the best setting found with the default one, called
// usual here, on fresh alternating runs, as `assay compare` judges a campaign. Pure functions.
#pragma once

#include <cstddef>
#include <span>

#include "judge/compare/verdict.h"
#include "statistics/summary.h"

namespace assay {

/// The most pairs of runs that a user may request.
constexpr std::size_t most_proof_pairs = 1000;

/// The scores of two consecutive fresh runs, as natural logarithms of speeds.
struct ScorePair {
  double usual = 0, best = 0;
};

/// What the pairs of runs prove.
struct Proof {
  std::size_t pairs = 0;
  /// Speed of the best setting divided by the default's, geometric mean over the pairs.
  double ratio = 1;
  /// Interval of `ratio`, Student's t on logarithms; infinite for a single pair.
  Interval interval95;
  Verdict verdict = Verdict::inconclusive;
  /// The best setting is proven faster: there are at least least_units pairs, and the 95% intervals
  /// of mean and median exclude 1, or `verdict` is faster. The gain may be below the margin within
  /// which `assay compare` calls speeds equal, because a small gain is still a gain.
  bool better = false;
  bool worse = false;  ///< the best setting is proven slower
};
/// Judges `pairs`, which are in time order.
Proof prove(std::span<const ScorePair> pairs);

/// Returns whether enough pairs were run. This depends only on the precision, checked after even
/// numbers of pairs, and never on which setting is ahead; a campaign ends by the same rule.
bool precise_enough(std::span<const ScorePair> pairs);

/// Returns whether the best setting runs in `turn` (0 or 1) of `pair`. Each setting comes first
/// equally often, so that drift favours neither.
constexpr bool is_turn_of_best(std::size_t pair, std::size_t turn) {
  return (pair + turn) % 2 == 1;
}

}  // namespace assay
