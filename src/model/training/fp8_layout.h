// Places of the FP8 copies of weights, inputs and gradients of a block's matrices: an arena holds
// their codes of one byte each, and an array their scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "model/tensors/tensor_layout.h"
#include "model/training/training_plan.h"

namespace assay {

/// The copies for y[N, outputs] = x[N, inputs] W^T and its gradients. Scales are numbers in the
/// array.
struct Fp8Operands {
  Tensor weight;          ///< [outputs, inputs]
  Tensor weight_columns;  ///< [inputs, outputs]
  /// [inputs, N], kept from forward to backward; empty if W is frozen.
  Tensor input_columns;
  std::size_t weight_scale = 0, input_scale = 0, gradient_scale = 0;
};

struct Fp8Layer {
  Fp8Operands qkv, proj, up, down;
};

struct Fp8Layout {
  std::vector<Fp8Layer> layers;  ///< of every block; without copies if products are not FP8
  // Every product uses these again.
  Tensor input;                   ///< [N, most inputs]
  Tensor gradient;                ///< [N, most outputs]
  Tensor gradient_columns;        ///< [most outputs, N]; empty if all weights are frozen
  std::size_t codes = 0;          ///< bytes of the arena
  std::size_t weight_codes = 0;   ///< bytes of it that copies of weights take
  std::size_t weight_scales = 0;  ///< the first scales are those of weights
  std::size_t scales = 0;

  static Fp8Layout of(const TransformerPlan& plan);
  /// Returns whether all blocks' weights use the memory of one in turns, and are quantized again in
  /// the backward pass: where they are whole only while they are used, or memory is to be saved.
  static bool takes_turns(const TransformerPlan& plan) {
    return plan.parallel.slices_parameters() || plan.recompute == Recompute::layer;
  }
};

/// Error: usage, if a size of the plan is no multiple of `fp8_multiple`, or its type is not bf16.
Status validate_fp8(const TransformerPlan& plan);

}  // namespace assay
