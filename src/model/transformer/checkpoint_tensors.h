// The tensors of a decoder one by one, as files name them: what of each a rank has, where that lies
// in its memory, and where in a decoder that one rank computes alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/transformer/decoder_layout.h"

namespace assay {

struct ShardTensor {
  enum class Kind { matrix, bias, norm };

  Kind kind = Kind::matrix;
  std::string name;                 ///< in files: "model.layers.0.self_attn.q_proj.weight"
  std::vector<std::int64_t> shape;  ///< in files, of all of it; a vector is one row
  /// In files, of the first element that this rank has.
  std::int64_t row = 0, column = 0;
  WeightMatrix place;     ///< here
  Tensor whole;           ///< in DecoderWeights::of(shape): all of the tensor it is kept in there
  std::size_t first = 0;  ///< in `whole`, the number of the first element that this rank has

  /// Of a row in files.
  std::int64_t columns_in_file() const { return shape.back(); }
};

/// Every tensor that the files of a decoder hold, each once, but for those of which this rank has
/// nothing. Queries, keys and values, and gate and up, are rows of one matrix here. `own`: the
/// rank's layout.
std::vector<ShardTensor> tensors_of_shard(const DecoderShape& shape, const DecoderWeights& own,
                                          TensorParallelShard part = {});

}  // namespace assay
