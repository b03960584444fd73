// Adapters in double precision: a model with adapters is one whose matrices they are added to, and
// their gradients follow from those of its matrices. It is the reference of all other code.
#pragma once

#include <vector>

#include "model/transformer/lora.h"
#include "model/transformer/transformer_parameters.h"

namespace assay {

/// The weights of the model, laid out as `layout`, with scale B A added to each target.
/// `adapters` are laid out as `lora`.
std::vector<double> merged_weights(std::vector<double> weights, const TransformerParameters& layout,
                                   const std::vector<double>& adapters, const LoraParameters& lora);

/// The adapters' gradients from `gradients`, those of the merged weights: dA = scale B^T dW, dB =
/// scale dW A^T.
std::vector<double> adapter_gradients(const std::vector<double>& gradients,
                                      const TransformerParameters& layout,
                                      const std::vector<double>& adapters,
                                      const LoraParameters& lora);

}  // namespace assay
