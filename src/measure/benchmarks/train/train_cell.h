// The cells of the train benchmark: its axes, and the parsed form of a cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// With a fixed number of timed steps, this number of untimed ones, which warm up, comes before
/// them.
inline constexpr std::size_t steps_before_timed = 4;

/// `output` and `steps_between_evaluations` are for the benchmark finetune only.
struct TrainCell {
  std::unique_ptr<TrainModel> model;  ///< never null
  bool graph = true;                  ///< a step is one replayed graph, not single launches
  int ranks = 1;
  std::string library;           ///< name of the communication library; "none" if ranks train alone
  bool chooses_library = false;  ///< `library` is "fastest": it is chosen by measuring
  std::string data;              ///< "synthetic" or a file
  std::vector<std::uint64_t> buckets;  ///< bucket sizes in bytes to choose from; empty: the model's
  std::optional<std::size_t> steps;  ///< number of steps to time; empty: until the time is precise
  std::string from, save;  ///< files: checkpoints to load first and write at the end; empty: none
  /// The validation loss is computed after every such number of steps; 0: at the end only.
  std::uint64_t steps_between_evaluations = 0;
  std::string output;  ///< folder for what was learnt, as other programs read it; empty: none
};

/// Checks whether the disk has room for the cell's checkpoint and output. Error: as check_room()
/// (core/disk_room.h).
Status check_disk_room(const TrainCell& cell);

const std::vector<Axis>& train_axes();
/// The axes with these names, for a benchmark that shares them.
std::vector<Axis> axes_of_training(const std::vector<std::string>& names);

/// The cell with its number of ranks and its communication library decided for the team; several
/// cells for ranks=powers. Axes that have no meaning for ranks that train alone become "none".
std::vector<Cell> decide_ranks(const Cell& cell, const Device& device, const Team& team);
/// The cell with those "auto" values decided that depend on the device and the model: model, batch,
/// sequence, precision, rate, sums and attention. In bucket and steps "auto" is a value of its own.
Cell decide_train_cell(const Cell& cell, const DeviceFacts& facts);
/// The cell with an implementation of attention: the vendor's library if it supports the cell and
/// the memory suffices, else assay's own kernels if they support it, else plain. `parse` parses the
/// benchmark's cells.
Cell with_best_attention(const Cell& cell, const DeviceFacts& facts,
                         const std::function<Result<TrainCell>(const Cell&)>& parse);
/// Parses a decided cell. Error: usage if its values do not fit together.
Result<TrainCell> parse_train_cell(const Cell& cell);

// Parts of parse_train_cell() that other benchmarks use. Error: usage if values do not fit
// together.

/// The settings of a transformer, from the axes that describe its training.
Result<TransformerSettings> parse_transformer(const Cell& cell, TransformerShape shape);
/// How many ranks divide one batch: all of them for strong scaling, otherwise 1.
std::int64_t batch_cuts(const Cell& cell);
/// `model` with the values of the axes that describe a run: ranks, library, bucket, steps, from,
/// save and graph.
Result<TrainCell> complete_train_cell(std::unique_ptr<TrainModel> model, const Cell& cell);

}  // namespace assay
