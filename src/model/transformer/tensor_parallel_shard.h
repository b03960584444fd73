// What one of several ranks computes of every layer of a decoder ("tensor parallelism", as Megatron
// has it): heads of attention and columns of the perceptron's hidden width. Queries, keys, values,
// gate and up are cut by rows of their matrices, which are outputs; the two projections back by
// columns, so that each rank has a summand of the layer's result. The head is cut by rows, tokens
// of the vocabulary. https://arxiv.org/abs/1909.08053
#pragma once

#include <cstdint>

#include "core/result.h"
#include "model/transformer/decoder_shape.h"

namespace assay {

struct TensorParallelShard {
  int rank = 0, ranks = 1;

  bool is_whole() const { return ranks == 1; }
  /// Of heads of keys and values, the first that this rank has. Ranks that are more than there are
  /// heads share them.
  std::int64_t first_kv_head(const DecoderShape& whole) const;
};

/// The layers that a rank has, as those of a smaller decoder: the same width and vocabulary, fewer
/// heads, a smaller hidden width.
DecoderShape own_shape(const DecoderShape& whole, TensorParallelShard part);

/// Rows of the head that each rank has. The added rows are 0, as in padded_vocabulary().
std::int64_t head_rows(const DecoderShape& whole, TensorParallelShard part);

/// Error: usage, naming what cannot be dealt out to so many ranks, or what each would have of it.
Status validate(const DecoderShape& whole, TensorParallelShard part, bool quantized);

}  // namespace assay
