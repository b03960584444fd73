// What one of several ranks computes of every layer of a decoder ("tensor parallelism", as Megatron
// has it): heads of attention and columns of the perceptron's hidden width. Queries, keys, values,
// gate and up are cut by rows of their matrices, which are outputs; the two projections back by
// columns, so that each rank has a summand of the layer's result. The head is cut by rows, tokens
// of the vocabulary. https://arxiv.org/abs/1909.08053
#pragma once

#include <cstdint>

#include "core/result.h"
#include "model/transformer/transformer_shape.h"

namespace assay {

struct TensorParallelShard {
  int rank = 0, ranks = 1;

  bool is_whole() const { return ranks == 1; }
  /// The first head of keys and values that this rank has. If there are more ranks than such heads,
  /// they share them.
  std::int64_t first_kv_head(const TransformerShape& whole) const;
};

/// The layers that a rank has, as those of a smaller decoder: the same width and vocabulary, fewer
/// heads, a smaller hidden width.
TransformerShape own_shape(const TransformerShape& whole, TensorParallelShard shard);

/// Rows of the head that each rank has. The added rows are 0, as in padded_vocabulary().
std::int64_t head_rows(const TransformerShape& whole, TensorParallelShard shard);

/// Error: usage, naming what the ranks cannot share evenly, or what each would have of it.
Status validate(const TransformerShape& whole, TensorParallelShard shard, bool quantized);

}  // namespace assay
