// Says where the intermediate results of a decoder's pass lie, known before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/tensors/tensor_layout.h"
#include "model/transformer/tensor_parallel_shard.h"
#include "model/transformer/transformer_shape.h"

namespace assay {

/// Results between operations; each is used again in every layer.
struct DecoderActivations {
  Tensor stream, normed, branch;  ///< [N, C]
  Tensor qkv;                     ///< [N, qkv_width]
  Tensor attended;                ///< [N, query_width]
  Tensor gate_up, hidden;         ///< [N, 2 F], [N, F]
  Tensor last;                    ///< [R, C]: the rows whose logits are wanted
  Tensor logits;                  ///< [R, padded vocabulary]
  /// With several ranks: this rank's logits, and those of all ranks as they are gathered.
  Tensor own_logits, gathered_logits;  ///< [R, head rows], [ranks R, head rows]
  std::size_t elements = 0;

  /// For passes of up to `tokens` tokens, of which `results` get logits.
  static DecoderActivations of(const TransformerShape& shape, std::int64_t tokens,
                               std::int64_t results, TensorParallelShard shard = {});
};

}  // namespace assay
