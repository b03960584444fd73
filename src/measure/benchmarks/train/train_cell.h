// The cells of the train benchmark: its axes, and what one cell asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "measure/benchmarks/train/train_model.h"
#include "measure/grid/axis.h"
#include "ranks/team/team.h"
#include "results/record/cell.h"

namespace assay {

struct TrainCell {
  std::unique_ptr<TrainModel> model;
  bool graph = true;
  int ranks = 1;
  std::string library;                 ///< of communicators; "none" for ranks that train alone
  bool chooses_library = false;        ///< the fastest there is
  std::string data;                    ///< of GPTs: "synthetic" or a file
  std::vector<std::uint64_t> buckets;  ///< to choose from; empty: that of the model
  std::optional<std::size_t> steps;    ///< to time; empty: until they are precise
  std::string from, save;  ///< checkpoints to begin with and to write at the end; empty: none
};

const std::vector<Axis>& train_axes();

/// The cell with the number of ranks and what they talk through decided for the team; several for
/// ranks=powers.
std::vector<Cell> decide_ranks(const Cell& cell, const Device& device, const Team& team);
/// The cell with its other "auto" values decided for the device: a model, a batch and a sequence
/// that suit it.
Cell decide_train_cell(const Cell& cell, const DeviceFacts& facts);
/// A decided cell. Error: usage, if its values do not fit together.
Result<TrainCell> parse_train_cell(const Cell& cell);

}  // namespace assay
