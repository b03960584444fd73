// The proof that ends a tuning, as text and JSON. Pure functions.
#pragma once

#include <span>
#include <string>

#include "advise/tune/proof.h"
#include "core/json_fwd.h"

namespace assay::cli {

/// Returns "1.043 times as fast as the default, 95% [1.021, 1.066], in 10 pairs of new runs".
std::string proof_text(const Proof& proof);
/// Returns "better, proven", or "equal within 2%, proven: no setting is better", or the like.
std::string conclusion_text(const Proof& proof);
Json proof_json(const Proof& proof, std::span<const ScorePair> pairs);

}  // namespace assay::cli
