// Adds what tokens cost to results that are compared or reported: figures beside, never judged.
#pragma once

#include <optional>

#include "judge/compare/result_set.h"
#include "results/record/cost.h"

namespace assay {

/// Adds the cost of a million tokens, in $, beside every series "token_rate" or "output_throughput"
/// in tokens/s. Does nothing without a price.
void add_costs(ResultSet& results, const std::optional<Price>& price);

}  // namespace assay
