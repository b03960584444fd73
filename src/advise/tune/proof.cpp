#include "advise/tune/proof.h"

#include <cmath>
#include <vector>

#include "statistics/paired.h"

namespace assay {

namespace {

constexpr VerdictRule rule;  // the rule that `assay compare` uses too
// The half-width to reach, as a share of the margin. It is smaller than in a campaign, so that 95
// of 100 proofs with equal speeds end as equal (bench_search_rates).
constexpr double precise_share = 0.33;

/// The effect of the best setting on the logarithm of the time, relative to the default one.
PairedEffect effect_of(std::span<const ScorePair> pairs) {
  PairedSeries slower;
  for (const ScorePair& pair : pairs) {
    slower.pairs.push_back(slower.pairs.size());
    slower.differences.push_back(pair.usual - pair.best);
  }
  return paired_effects({&slower, 1}, rule.log_margin()).front();
}

}  // namespace

Proof prove(std::span<const ScorePair> pairs) {
  const PairedEffect effect = effect_of(pairs);
  Proof proof;
  proof.pairs = effect.pairs;
  proof.ratio = std::exp(-effect.mean);
  proof.interval95 = {std::exp(-effect.t95.high), std::exp(-effect.t95.low)};
  proof.verdict = judge(effect, alone(effect, rule), true, Control::off, rule).verdict;
  const bool different =
      effect.pairs >= least_units && excludes_zero(effect.t95) && excludes_zero(effect.sign95);
  proof.better = proof.verdict == Verdict::faster || (different && effect.mean < 0);
  proof.worse = proof.verdict == Verdict::slower || (different && effect.mean > 0);
  return proof;
}

bool precise_enough(std::span<const ScorePair> pairs) {
  return pairs.size() % 2 == 0 &&
         precise_enough(effect_of(pairs), rule.log_margin(), precise_share);
}

}  // namespace assay
