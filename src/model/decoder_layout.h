// Where every weight and intermediate result of a decoder lies, known before anything is allocated.
#pragma once

#include <cstddef>
#include <vector>

#include "model/decoder_shape.h"
#include "model/tensor_layout.h"

namespace assay {

/// The weights of one layer. Matrices are [outputs, inputs]; absent tensors have no elements.
struct DecoderLayerWeights {
  Tensor norm1;                 ///< [1, C]
  Tensor qkv, qkv_bias;         ///< [qkv_width, C]: queries, keys and values, each of all heads
  Tensor query_norm, key_norm;  ///< [1, head_width]
  Tensor proj;                  ///< [C, query_width]
  Tensor norm2;                 ///< [1, C]
  Tensor gate_up;               ///< [2 F, C]
  Tensor down;                  ///< [C, F]
};

struct DecoderWeights {
  Tensor embedding;  ///< [padded vocabulary, C]
  std::vector<DecoderLayerWeights> layers;
  Tensor norm;               ///< [1, C], after the last layer
  Tensor head;               ///< as the embedding, which it is if tied
  std::size_t elements = 0;  ///< of the arena, gaps included

  static DecoderWeights of(const DecoderShape& shape);
  /// Every matrix, and every norm's weights.
  std::vector<Tensor> matrices() const;
  std::vector<Tensor> norms() const;
};

/// Results between operations, each used again in every layer.
struct DecoderActivations {
  Tensor stream, normed, branch;  ///< [N, C]
  Tensor qkv;                     ///< [N, qkv_width]
  Tensor attended;                ///< [N, query_width]
  Tensor gate_up, hidden;         ///< [N, 2 F], [N, F]
  Tensor last;                    ///< [R, C]: the rows whose logits are wanted
  Tensor logits;                  ///< [R, padded vocabulary]
  std::size_t elements = 0;

  /// Of passes of up to `tokens` tokens, of which `results` get logits.
  static DecoderActivations of(const DecoderShape& shape, std::int64_t tokens,
                               std::int64_t results);
};

}  // namespace assay
