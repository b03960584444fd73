// The FP8 copies of weights, inputs and gradients of a block's matrices: codes of one byte each,
// and their scales in an array.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "model/tensors/tensor_layout.h"
#include "model/training/training_plan.h"

namespace assay {

/// Where the backward pass finds the columns of a product's input, which the gradient of its weight
/// reads.
enum class InputColumns {
  kept,        ///< the forward pass wrote them
  by_product,  ///< the product, which is computed again, writes them
  alone,       ///< the input is there, and is quantized again for them
};

/// The copies for y[N, outputs] = x[N, inputs] W^T and its gradients. Scales are numbers in the
/// array. Codes lie in the arena of activations, two in the place of an element, but those of
/// weights that do not take turns lie in an arena of their own.
struct Fp8Operands {
  Tensor weight;          ///< [outputs, inputs]
  Tensor weight_columns;  ///< [inputs, outputs]
  Tensor input;           ///< [N, inputs]
  Tensor gradient;        ///< [N, outputs]
  /// [inputs, N] and [outputs, N]; empty if W is frozen.
  Tensor input_columns, gradient_columns;
  InputColumns columns = InputColumns::kept;
  std::size_t weight_scale = 0, input_scale = 0, gradient_scale = 0;
};

struct Fp8Layer {
  Fp8Operands qkv, proj, up, down;
};

struct MatrixOfBlock {
  const char* name;
  Fp8Operands Fp8Layer::*copies;
  std::int64_t outputs, inputs;
};
/// qkv, proj, up and down.
std::array<MatrixOfBlock, 4> matrices_of_block(const TransformerShape& shape);

struct Fp8Layout {
  std::vector<Fp8Layer> layers;   ///< of every block; without copies if products are not FP8
  std::size_t weight_codes = 0;   ///< bytes of the arena of weights that do not take turns
  std::size_t weight_scales = 0;  ///< the first scales are those of weights
  std::size_t scales = 0;

  /// Without the copies that lie in the arena of activations.
  static Fp8Layout of(const TransformerPlan& plan);
  /// Returns whether weights use the same memory in turns, and are quantized anew for each product:
  /// where they are whole only while they are used, or where memory is to be saved. Frozen ones,
  /// which never change, do so only if much is computed again.
  static bool takes_turns(const TransformerPlan& plan) {
    return plan.parallel.slices_parameters() ||
           plan.recompute >= (plan.lora ? Recompute::perceptron : Recompute::selective);
  }
};

/// Error: usage, if a size of the plan is no multiple of `fp8_multiple`, or its type is not bf16.
Status validate_fp8(const TransformerPlan& plan);

}  // namespace assay
