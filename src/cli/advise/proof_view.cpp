#include "cli/advise/proof_view.h"

#include <fmt/format.h>

#include <cmath>

#include "core/json.h"

namespace assay::cli {

std::string proof_text(const Proof& proof) {
  const Interval& interval = proof.interval95;
  const std::string known = std::isfinite(interval.high) ? fmt::format(", 95% [{:.3f}, {:.3f}],",
                                                                       interval.low, interval.high)
                                                         : "";
  return fmt::format("{:.3f} times as fast as the default{} in {} pairs of new runs", proof.ratio,
                     known, proof.pairs);
}

std::string conclusion_text(const Proof& proof) {
  if (proof.better && proof.verdict == Verdict::faster) return "better, proven";
  if (proof.better && proof.verdict == Verdict::equal) return "better, proven, by less than 2%";
  if (proof.better) return "better, proven, maybe by less than 2%";
  if (proof.worse) return "slower, proven: keep the default";
  if (proof.verdict == Verdict::equal) return "equal within 2%, proven: no setting is better";
  return "not proven; more pairs may prove it";
}

Json proof_json(const Proof& proof, std::span<const ScorePair> pairs) {
  Json scores = Json::array();
  for (const ScorePair& pair : pairs) {
    scores.push_back(Json::array({std::exp(pair.usual), std::exp(pair.best)}));
  }
  Json json = {{"pairs", std::move(scores)},
               {"ratio", proof.ratio},
               {"verdict", name_of(proof.verdict)},
               {"better", proof.better}};
  if (std::isfinite(proof.interval95.high)) {
    json["interval95"] = {proof.interval95.low, proof.interval95.high};
  }
  return json;
}

}  // namespace assay::cli
