// What each operation of a training step computes and moves at the least: the roofline its time is
// held against.
#pragma once

#include <string>
#include <vector>

#include "model/gpt_layout.h"

namespace assay {

enum class Phase { forward, backward, update };
std::string_view name_of(Phase phase);

/// One kind of operation, all blocks of a step together.
struct OperationCost {
  Phase phase = Phase::forward;
  std::string
      name;  ///< "qkv", "attention", "norm"; gradients of products: "qkv_weight", "qkv_input"
  double flops = 0;
  double bytes = 0;  ///< read and written once, as if nothing stayed in a cache
};

/// All operations of a pass and the update, in the order in which they first run. Sources: the
/// sizes of the operands; attention counts its causal half, 2 N T C forward and 5 N T C backward
/// (two and five products), as FlashAttention's authors count it.
std::vector<OperationCost> costs_of(const TrainingPlan& plan);

}  // namespace assay
