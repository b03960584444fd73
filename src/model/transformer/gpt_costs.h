// What each operation of a step of training a GPT computes and moves at the least.
#pragma once

#include <vector>

#include "model/operations/operation_cost.h"
#include "model/transformer/gpt_layout.h"

namespace assay {

/// All operations of a pass and the update, in the order in which they first run. Sources: the
/// sizes of the operands; attention counts its causal half, 2 N T C forward and 5 N T C backward
/// (two and five products), as FlashAttention's authors count it. `accumulate`: passes of a step,
/// of which this is the mean.
std::vector<OperationCost> costs_of(const GptPlan& plan, std::int64_t accumulate = 1);

}  // namespace assay
