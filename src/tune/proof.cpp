#include "tune/proof.h"

#include <cmath>
#include <vector>

#include "statistics/paired.h"

namespace assay {

namespace {

constexpr VerdictRule rule;  // that of `assay compare`
// Of the margin, less than in a campaign: 95 of 100 proofs of equal speeds shall say so
// (bench_search_rates).
constexpr double precise_share = 0.33;

/// Of logarithms of times, best over usual.
PairedEffect effect_of(std::span<const ScorePair> pairs) {
  std::vector<double> slower;
  for (const ScorePair& pair : pairs) slower.push_back(pair.usual - pair.best);
  return paired_effect(slower, rule.log_margin());
}

}  // namespace

Proof prove(std::span<const ScorePair> pairs) {
  const PairedEffect effect = effect_of(pairs);
  Proof proof;
  proof.pairs = effect.pairs;
  proof.ratio = std::exp(-effect.mean);
  proof.interval95 = {std::exp(-effect.t95.high), std::exp(-effect.t95.low)};
  proof.verdict = judge(effect, true, Control::off, rule).verdict;
  const bool different = effect.n >= least_units && effect.p_different < rule.alpha;
  proof.better = proof.verdict == Verdict::faster || (different && effect.mean < 0);
  proof.worse = proof.verdict == Verdict::slower || (different && effect.mean > 0);
  return proof;
}

bool precise_enough(std::span<const ScorePair> pairs) {
  return pairs.size() % 2 == 0 &&
         precise_enough(effect_of(pairs), rule.log_margin(), precise_share);
}

}  // namespace assay
