// Where every parameter of a transformer lies, in training and in inference, known before anything
// is allocated.
#pragma once

#include <cstddef>
#include <vector>

#include "model/tensors/tensor_layout.h"
#include "model/transformer/tensor_parallel_shard.h"
#include "model/transformer/transformer_shape.h"

namespace assay {

/// The parameters of one block. Matrices are [outputs, inputs]; absent tensors have no elements.
/// With tensor parallelism these are the rank's, whose heads and hidden width are own_shape()'s.
struct LayerParameters {
  Tensor norm1_weight, norm1_bias;  ///< [1, C]
  Tensor qkv, qkv_bias;             ///< [qkv_width, C]: queries, keys and values, each of all heads
  Tensor query_norm, key_norm;      ///< [1, head_width]
  Tensor proj, proj_bias;           ///< [C, query_width]
  Tensor norm2_weight, norm2_bias;  ///< [1, C]
  Tensor up, up_bias;               ///< [up_width, C]
  Tensor down, down_bias;           ///< [C, F]
};

struct ParameterLayout {
  int slices = 1;  ///< into how many equal parts each section can be cut (TensorPlaces)
  /// Whether the matrices of blocks and the head are quantized. Norms, biases and the embedding
  /// never are.
  bool quantized = false;
  TensorParallelShard shard = {};
};

/// All parameters in the order in which a forward pass reads them. Gradients, master weights and
/// moments lie in arenas of the same layout, so an optimizer is one pass over them, and a range of
/// blocks is a slice.
struct TransformerParameters {
  Tensor embedding;  ///< [padded vocabulary, C], on every rank
  Tensor positions;  ///< [learned positions, C]
  std::vector<LayerParameters> layers;
  Tensor norm_weight, norm_bias;  ///< [1, C], behind the last block
  /// [padded vocabulary, C]: the embedding if tied, unless it is quantized; with tensor parallelism
  /// head_rows() of it.
  Tensor head;
  /// The embeddings; each block, the last one with the norm behind it; the head, if it is not the
  /// embedding.
  std::vector<Section> sections;
  /// How many of the first sections are used from the beginning of a pass to its end: the
  /// embeddings.
  static constexpr std::size_t kept_sections = 1;
  bool tied = false;         ///< the head is (a part of) the embedding
  bool gated = false;        ///< `up` has the rows of SwiGLU's gate before its own
  std::size_t elements = 0;  ///< size of the arena, gaps included
  std::size_t codes = 0;     ///< size of the arena of quantized matrices
  std::size_t factors = 0;   ///< size of the arena of their rows' factors

  static TransformerParameters of(const TransformerShape& shape,
                                  const ParameterLayout& layout = {});

  /// Every tensor that has elements, in order: "embedding", "layers.0.norm1_weight", ... A tied
  /// head is no tensor of its own.
  std::vector<NamedTensor> named() const;
  /// The matrices of the blocks in their order, without the head.
  std::vector<Tensor> matrices() const;
};

}  // namespace assay
