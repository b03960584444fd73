// The toy of the benchmark `tensor_parallel` as a case (ToyCell says what it computes).
#pragma once

#include <memory>

#include "measure/benchmarks/tensor_parallel/tensor_cell.h"
#include "model/model_ranks.h"

namespace assay {

/// The whole team calls it together; ranks behind those of the cell take no part. Error: of the
/// device, here or on another rank.
Result<std::unique_ptr<Case>> prepare_tensor_parallel_layers(const TensorCell& cell,
                                                             PrepareContext context,
                                                             ModelRanks ranks);

}  // namespace assay
