// Where every weight and intermediate result of a decoder lies, known before anything is allocated.
#pragma once

#include <cstddef>
#include <vector>

#include "model/tensors/tensor_layout.h"
#include "model/transformer/decoder_shape.h"
#include "model/transformer/tensor_parallel_shard.h"

namespace assay {

/// A matrix [outputs, inputs] of a decoder. Quantized, it lies in an arena of codes of one byte,
/// and each row has a factor in an arena of f32.
struct WeightMatrix : Tensor {
  bool quantized = false;
  std::size_t factors = 0;  ///< of its first row, elements from the arena's start

  /// `count` of its rows from `first` on.
  WeightMatrix rows_from(std::int64_t first, std::int64_t count) const;
};

/// The weights of one layer; of several ranks, those of this one, whose heads and hidden width are
/// own_shape()'s. Absent tensors have no elements.
struct DecoderLayerWeights {
  Tensor norm1;                 ///< [1, C]
  WeightMatrix qkv;             ///< [qkv_width, C]: queries, keys and values, each of all heads
  Tensor qkv_bias;              ///< [1, qkv_width]
  Tensor query_norm, key_norm;  ///< [1, head_width]
  WeightMatrix proj;            ///< [C, query_width]
  Tensor norm2;                 ///< [1, C]
  WeightMatrix gate_up;         ///< [2 F, C]
  WeightMatrix down;            ///< [C, F]
};

struct DecoderWeights {
  Tensor embedding;  ///< [padded vocabulary, C], on every rank
  std::vector<DecoderLayerWeights> layers;
  Tensor norm;  ///< [1, C], after the last layer
  /// As the embedding, which it is if tied, unless it is quantized; of several ranks each has
  /// head_rows() of it.
  WeightMatrix head;
  std::size_t elements = 0;  ///< of the arena, gaps included
  std::size_t codes = 0;     ///< of the arena of quantized matrices
  std::size_t factors = 0;   ///< of the arena of their rows' factors

  /// `quantized`: the matrices of layers and the head are. Norms, biases and the embedding are not.
  static DecoderWeights of(const DecoderShape& shape, bool quantized = false,
                           TensorParallelShard part = {});
  /// The matrices of the layers in their order, without the head.
  std::vector<WeightMatrix> matrices() const;
};

/// Results between operations, each used again in every layer.
struct DecoderActivations {
  Tensor stream, normed, branch;  ///< [N, C]
  Tensor qkv;                     ///< [N, qkv_width]
  Tensor attended;                ///< [N, query_width]
  Tensor gate_up, hidden;         ///< [N, 2 F], [N, F]
  Tensor last;                    ///< [R, C]: the rows whose logits are wanted
  Tensor logits;                  ///< [R, padded vocabulary]
  /// Of several ranks: those that this one computes, and those of all as they are gathered.
  Tensor own_logits, gathered_logits;  ///< [R, head rows], [ranks R, head rows]
  std::size_t elements = 0;

  /// Of passes of up to `tokens` tokens, of which `results` get logits.
  static DecoderActivations of(const DecoderShape& shape, std::int64_t tokens, std::int64_t results,
                               TensorParallelShard part = {});
};

}  // namespace assay
