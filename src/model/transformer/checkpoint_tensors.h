// The tensors of a transformer as files of Hugging Face's format name them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/transformer/transformer_parameters.h"

namespace assay {

/// Every tensor that the files of a Llama or Qwen hold, each once, without those of which this rank
/// has nothing. Here queries, keys and values are rows of one matrix, and so are gate and up. `own`
/// is the rank's layout.
std::vector<NamedTensor> tensors_of_shard(const TransformerShape& shape,
                                          const TransformerParameters& own,
                                          TensorParallelShard shard = {});

}  // namespace assay
