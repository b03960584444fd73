// Where every activation of a transformer's training lies: kept by a block from forward to
// backward, or in memory that everything shares that is not needed at the same moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/tensors/tensor_layout.h"
#include "model/training/fp8_layout.h"
#include "model/training/training_plan.h"

namespace assay {

/// Activations of a block. What it keeps from forward to backward has memory of its own; the rest
/// shares memory with whatever is not needed at the same moment. Elements are of the plan's type
/// unless f32 is written, which is an arena of its own. N is the number of tokens.
struct LayerActivations {
  Tensor normed1;            ///< [N, C]
  Tensor qkv;                ///< [N, qkv_width], before norms of heads and rotation
  Tensor probabilities;      ///< [B H T, T], with plain attention
  Tensor log_sum;            ///< f32 [B H, T], otherwise: log of the sum of exponentials
  Tensor attended;           ///< [N, query_width]
  Tensor middle;             ///< [N, C]: the residual stream behind attention
  Tensor normed2;            ///< [N, C]
  Tensor before_activation;  ///< [N, up_width]; SwiGLU's gradient takes its place
  Tensor hidden;             ///< [N, F]: behind GELU or SwiGLU
  Tensor result;             ///< [N, C]: the residual stream behind the block
  /// [N, ranks of the group]: inputs of adapted matrices times their A.
  Tensor qkv_ranks, proj_ranks, up_ranks, down_ranks;
  Tensor statistics1, statistics2;  ///< f32 [N, 2]: mean and 1 / deviation of each norm's rows
};

struct TrainingActivations {
  Tensor stream_gradient;  ///< [N, C]: that of the residual stream
  Tensor embedded;         ///< [N, C]
  std::vector<LayerActivations> layers;
  Tensor normed;      ///< [N, C]: behind the last norm
  Tensor statistics;  ///< f32 [N, 2]
  Tensor logits;      ///< [rows_of_logits(), padded vocabulary]; then their gradients
  // Every block uses these again.
  Tensor rotated;          ///< [N, qkv_width]: attention's input, if it is not `qkv`
  Tensor branch;           ///< [N, C]: what a block adds to the stream, forward
  Tensor branch_gradient;  ///< [N, C or query_width]
  Tensor hidden_gradient;  ///< [N, F]
  Tensor qkv_gradient;     ///< [N, qkv_width]
  Tensor ranks_gradient;   ///< [N, most ranks of a group of adapters]
  Fp8Layout fp8;
  std::size_t elements = 0;  ///< size of the arena of the plan's type
  std::size_t floats = 0;    ///< size of the arena of f32
  /// How many elements of that arena are before the gradients of the parameters, which lie over
  /// activations and end it; empty: gradients have memory of their own.
  std::optional<std::size_t> before_gradients;

  static TrainingActivations of(const TransformerPlan& plan) {
    return with_rows_of_logits(plan, plan.rows_of_logits());
  }
  static TrainingActivations with_rows_of_logits(const TransformerPlan& plan, std::int64_t rows);
  /// The elements that it adds to the memory of the gradients.
  std::size_t beside_gradients() const { return before_gradients.value_or(elements); }
};

}  // namespace assay
