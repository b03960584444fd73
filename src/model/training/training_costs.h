// Says what each operation of a training step of a transformer computes and moves at the least.
#pragma once

#include <optional>
#include <vector>

#include "model/operations/operation_cost.h"
#include "model/training/training_plan.h"

namespace assay {

/// All operations of a pass and the update, in the order in which they first run. Sources: the
/// sizes of the operands; attention counts its causal half, 2 N T Q forward and 5 N T Q backward
/// (two and five GEMMs; Q is the width of all query heads), as FlashAttention's authors count it.
/// The costs are the mean over the step's `accumulate` passes. `keys`: how many tokens a token
/// attends to on average, if it is not half of the sequence.
std::vector<OperationCost> costs_of(const TransformerPlan& plan, std::int64_t accumulate = 1,
                                    std::optional<double> keys = std::nullopt);

}  // namespace assay
