// What benchmarks that train a model have in common: how a cell is decided, refused and prepared.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/benchmarks/train/train_cell.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// A derived class implements name(), summary(), axes(), decide() and parse(). Its axes are those
/// of train_axes(), or include the ones that train_cell.h, train_choice.h and this class read, made
/// by axes_of_training(). An axis `weights` is "random" or a folder with config.json.
class TrainingBenchmark : public Benchmark {
 public:
  bool redundant(const Cell& cell) const override;
  std::vector<Cell> expand(const Cell& cell, const Device& device, const Team& team) const override;
  bool takes_team() const override { return true; }
  bool queues_collectives() const override { return true; }
  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override;
  Status check_files(const Cell& cell, const Device& device, const Team& team) const override;
  bool depends_on_device() const override { return true; }
  std::string requirements(const Cell& cell, const Device& device) const override;
  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override;

 protected:
  /// Returns the cell with every "auto" replaced that depends on the device or the model. expand()
  /// has already decided the number of ranks and their library with decide_ranks(). "auto" stays
  /// where it is a value of its own (bucket, steps, template), where it has no effect (attention of
  /// an MLP), and in `model` if the folder of weights has no usable config.json.
  virtual Cell decide(const Cell& cell, const DeviceFacts& facts) const = 0;
  /// Parses a decided cell. Error: usage if its values do not fit together; as
  /// read_decoder_config() (model/transformer/decoder_config.h) if the cell names weights.
  virtual Result<TrainCell> parse(const Cell& cell) const = 0;
};

}  // namespace assay
