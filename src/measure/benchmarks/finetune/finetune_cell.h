// The cells of the finetune benchmark: its axes, and the parsed form of a cell.
#pragma once

#include <vector>

#include "measure/benchmarks/train/train_cell.h"

namespace assay {

const std::vector<Axis>& finetune_axes();
/// The cell with its "auto" values decided for the device, but for the ranks.
Cell decide_finetune_cell(const Cell& cell, const DeviceFacts& facts);
/// Parses a decided cell. Error: usage if its values do not fit together.
Result<TrainCell> parse_finetune_cell(const Cell& cell);

}  // namespace assay
