// One cell of a benchmark that trains: a model that is checked, trained step by step, and
// described.
#pragma once

#include <memory>

#include "measure/benchmarks/train/train_cell.h"
#include "measure/benchmarks/train/train_choice.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// Makes the cell's model on all ranks and takes its first step. The whole team calls it together,
/// and either all ranks get a case or all get an error. `exchange` is what exchange_of() chose, and
/// `ranks` the ranks that train, with null pointers on ranks that do not. The device, stream and
/// team of `context`, and what `ranks` points to, must outlive the case. Error: exhausted if the
/// memory does not hold the model; as TrainModel::create() and check_output(); that of a file to
/// load or save; that of the device and its libraries.
Result<std::unique_ptr<Case>> prepare_train_case(TrainCell cell, ExchangeChoice exchange,
                                                 PrepareContext context, TrainingRanks ranks);

}  // namespace assay
