// A multi-layer perceptron in training: its shape, where every tensor lies, and what it costs,
// known before anything is allocated. ReLU between the layers, mean squared error at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/operations/operation_cost.h"
#include "model/tensors/parameter_plan.h"
#include "model/tensors/tensor_layout.h"

namespace assay {

struct MlpShape {
  std::vector<std::int64_t> widths;  ///< of the input and of each layer's result
  bool bias = true;                  ///< whether layers have biases

  std::size_t layers() const { return widths.size() - 1; }
  double parameters() const;
  /// Floating-point operations of forward and backward per sample, 6 per weight, less the gradient
  /// of the input, which nobody needs.
  double flops_per_sample() const;
};

/// Parses "mlp", which is 4096-8192-8192-4096, or two or more multiples of 8, joined by hyphens.
/// Error: usage, naming the text and what is allowed.
Result<MlpShape> parse_mlp_shape(std::string_view text);
/// Returns whether a model's name means one of these: mlp, or nothing but numbers and hyphens.
bool is_mlp(std::string_view text);

struct MlpPlan : ParameterPlan {
  MlpShape shape;
  std::int64_t batch = 0;
};

struct MlpParameters {
  struct Layer {
    Tensor weight;  ///< [outputs, inputs]
    Tensor bias;    ///< [1, outputs], or without elements
  };
  std::vector<Layer> layers;
  std::vector<Section> sections;  ///< each layer
  std::size_t elements = 0;       ///< of the arena, gaps included

  /// `slices`: as TensorPlaces.
  static MlpParameters of(const MlpShape& shape, int slices = 1);
  /// Returns the parameters under their names: "layers.0.weight", "layers.0.bias", ...
  std::vector<NamedTensor> named() const;
};

struct MlpActivations {
  /// The input and each layer's result, [batch, width]; of the last one its gradient in the end.
  std::vector<Tensor> results;
  std::vector<Tensor>
      gradients;  ///< of the results before the last: [batch, width], from the first
  std::size_t elements = 0;

  static MlpActivations of(const MlpPlan& plan);
};

/// Bytes of scratch for the gradients of biases.
std::uint64_t scratch_bytes(const MlpPlan& plan);
TrainingMemory memory_of(const MlpPlan& plan);
/// The largest batch whose memory_of() is at most `bytes`; 0 if not even one sample fits.
std::int64_t largest_batch(MlpPlan plan, std::uint64_t bytes);
/// Returns "batch=3 would fit", or what else would, for a plan that needs more than `bytes`.
std::string what_would_fit(const MlpPlan& plan, std::uint64_t bytes);
/// Its operations, as costs_of() a GPT says it.
std::vector<OperationCost> costs_of(const MlpPlan& plan);

}  // namespace assay
