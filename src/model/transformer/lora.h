// Low-rank adapters of a transformer's matrices (LoRA, Hu et al. 2021): y = x W^T + scale (x A^T)
// B^T, where W is frozen and A and B are trained. Here is where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/tensors/tensor_layout.h"
#include "model/transformer/transformer_shape.h"

namespace assay {

/// The matrices of a block that can have an adapter, named as files name them without "_proj".
enum class LoraTarget { q, k, v, o, gate, up, down };
std::string_view name_of(LoraTarget target);
/// The matrix's name in files: "model.layers.0.self_attn.q_proj".
std::string module_of(std::size_t layer, LoraTarget target);

/// The largest alpha with which adapters are trained or read.
constexpr double most_lora_alpha = 65536;

struct LoraSettings {
  std::int64_t rank = 16;
  double alpha = 32;
  std::vector<LoraTarget> targets = {};  ///< each once, in the order of LoraTarget

  double scale() const { return alpha / static_cast<double>(rank); }
};

/// Targets by name: "torchtune" (q, v, o and the perceptron, as its recipes for Llama and Qwen),
/// "trl" (q and v, the default of TRL and PEFT for Llama and Qwen), "all", or targets joined by
/// "+", such as q+v+down. Error: usage.
Result<std::vector<LoraTarget>> parse_lora_targets(std::string_view text);

/// Error: usage if the numbers do not fit together, unsupported if the model has other matrices.
Status validate(const LoraSettings& settings, const TransformerShape& shape);

/// The adapters of matrices that lie together in one (LayerParameters) and so have the same input.
struct LoraGroup {
  struct Part {
    LoraTarget target = LoraTarget::q;
    Tensor b;                ///< [outputs, rank]
    std::int64_t first = 0;  ///< the row of the joined matrix with which the target begins
  };
  Tensor a;  ///< [parts * rank, inputs], one part after the other
  std::vector<Part> parts;
  std::int64_t outputs = 0;  ///< of the joined matrix

  std::int64_t ranks() const { return a.rows; }
  /// Returns whether every output belongs to a part.
  bool fills_result() const {
    std::int64_t filled = 0;
    for (const Part& part : parts) filled += part.b.rows;
    return filled == outputs;
  }
};

struct LoraLayer {
  LoraGroup qkv, proj, up, down;
};

struct LoraParameters {
  std::int64_t rank = 0;
  double scale = 0;
  std::vector<LoraLayer> layers;  ///< one for each block, with adapters or without
  std::vector<Section> sections;  ///< one, for adapters are small
  std::size_t elements = 0;       ///< size of the arena, gaps included

  /// `slices`: as in ParameterLayout.
  static LoraParameters of(const TransformerShape& shape, const LoraSettings& settings,
                           int slices = 1);
  /// All of them: "layers.0.q.lora_A", "layers.0.q.lora_B", ...
  std::vector<NamedTensor> named() const;
  /// The numbers that are trained.
  double parameters() const;
  /// The most ranks of a group.
  std::int64_t most_ranks() const;
};

}  // namespace assay
