// The cells of the finetune benchmark: its axes, and the parsed form of a cell.
#pragma once

#include <vector>

#include "measure/benchmarks/train/train_cell.h"

namespace assay {

const std::vector<Axis>& finetune_axes();
/// Returns the cell with every "auto" replaced by what suits the device. The number of ranks and
/// their library stay as they are; decide_ranks() chooses them.
Cell decide_finetune_cell(const Cell& cell, const DeviceFacts& facts);
/// Parses a decided cell. Error: usage if its values do not fit together.
Result<TrainCell> parse_finetune_cell(const Cell& cell);

}  // namespace assay
