// The case of `tensor_parallel` that measures the toy model (described at LayersCell).
#pragma once

#include <memory>

#include "measure/benchmarks/tensor_parallel/tensor_cell.h"
#include "model/parallel/model_ranks.h"

namespace assay {

/// The whole team calls it together; ranks beyond those of the cell do not take part. Error: from
/// the device, here or on another rank.
Result<std::unique_ptr<Case>> prepare_tensor_parallel_layers(const TensorCell& cell,
                                                             PrepareContext context,
                                                             ModelRanks ranks);

}  // namespace assay
