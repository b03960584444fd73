// The cells of the train benchmark: its axes, and what one cell asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "core/cell.h"
#include "measure/benchmarks/axis.h"
#include "measure/benchmarks/train_bucket.h"
#include "measure/benchmarks/train_model.h"
#include "ranks/team/team.h"

namespace assay {

struct TrainCell {
  std::unique_ptr<TrainModel> model;
  bool graph = true;
  int ranks = 1;
  std::string library;               ///< of communicators; "none" for one rank
  bool chooses_bucket = false;       ///< by measuring, because the cell names no size
  BucketChoice bucket;               ///< what came of that
  std::optional<std::size_t> steps;  ///< to time; empty: until they are precise
  std::string from, save;  ///< checkpoints to begin with and to write at the end; empty: none
};

const std::vector<Axis>& train_axes();

/// The cell with the number of ranks and what they talk through decided for the team; several for
/// ranks=powers.
std::vector<Cell> decide_ranks(const Cell& cell, const Device& device, const Team& team);
/// The cell with its other "auto" values decided for the device: a model, a batch and a sequence
/// that suit it.
Cell decide_train_cell(const Cell& cell, const DeviceFacts& facts);
/// What the best size of a bucket depends on: the cell, but for what comes before and after its
/// steps, the hosts of its ranks, and the library. `communicator` may be null on ranks other than
/// 0.
ChoiceKey bucket_key(const Cell& cell, const Team& team, const Communicator* communicator);
/// A decided cell. Error: usage, if its values do not fit together.
Result<TrainCell> parse_train_cell(const Cell& cell);

}  // namespace assay
