// The cells of the finetune benchmark: its axes, and the parsed form of a cell.
#pragma once

#include <vector>

#include "measure/benchmarks/train/train_cell.h"

namespace assay {

const std::vector<Axis>& finetune_axes();
/// Returns the cell with every "auto" replaced that depends on the device or the model. The number
/// of ranks and their library stay as they are; decide_ranks() chooses them. So do the axes in
/// which "auto" is a value of its own: bucket, steps and template.
Cell decide_finetune_cell(const Cell& cell, const DeviceFacts& facts);
/// Parses a decided cell. Error: usage if its values do not fit together; as read_decoder_config()
/// (model/transformer/decoder_config.h), if it names a folder of weights.
Result<TrainCell> parse_finetune_cell(const Cell& cell);

}  // namespace assay
