// The proof that ends every tuning: what was found best against what is usual, on fresh runs in
// turns, judged as `assay compare` judges a campaign. Pure functions.
#pragma once

#include <cstddef>
#include <span>

#include "judge/compare/verdict.h"
#include "statistics/summary.h"

namespace assay {

/// How many pairs of runs a user may ask for.
constexpr std::size_t most_proof_pairs = 1000;

/// Two fresh runs next to each other in time, as natural logarithms of speeds.
struct ScorePair {
  double usual = 0, best = 0;
};

struct Proof {
  std::size_t pairs = 0;
  double ratio = 1;     ///< of the speeds, best over usual: geometric mean over the pairs
  Interval interval95;  ///< of it, Student's t on logarithms; infinite for a single pair
  Verdict verdict = Verdict::inconclusive;
  /// Proven, maybe by less than the margin, below which `assay compare` calls speeds equal: a small
  /// gain is one. `interval95` excludes 1 then.
  bool better = false;
  bool worse = false;  ///< the same
};
/// `pairs` in time order.
Proof prove(std::span<const ScorePair> pairs);

/// Whether further pairs are needless: as in a campaign, this looks at precision only, after even
/// numbers of pairs, and never at what they say.
bool precise_enough(std::span<const ScorePair> pairs);

/// Whether the best setting runs in `turn`, 0 or 1, of `pair`: each comes first equally often, so
/// that drift favours neither.
constexpr bool is_turn_of_best(std::size_t pair, std::size_t turn) {
  return (pair + turn) % 2 == 1;
}

}  // namespace assay
