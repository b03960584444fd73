// One cell of a benchmark that trains: a model that is checked, trained step by step, and
// described.
#pragma once

#include <memory>

#include "measure/benchmarks/train/train_cell.h"
#include "measure/benchmarks/train/train_choice.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// Makes the cell's model on all ranks and takes its first step. The whole team calls it together.
Result<std::unique_ptr<Case>> prepare_train_case(TrainCell cell, ExchangeChoice exchange,
                                                 PrepareContext context, TrainingRanks ranks);

}  // namespace assay
