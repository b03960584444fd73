// Says what benchmarks that train a model have in common: how a cell is decided, refused and
// prepared.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/benchmarks/train/train_cell.h"
#include "measure/grid/benchmark.h"

namespace assay {

class TrainingBenchmark : public Benchmark {
 public:
  bool redundant(const Cell& cell) const override;
  std::vector<Cell> expand(const Cell& cell, const Device& device, const Team& team) const override;
  bool takes_team() const override { return true; }
  bool queues_collectives() const override { return true; }
  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override;
  bool depends_on_device() const override { return true; }
  std::string requirements(const Cell& cell, const Device& device) const override;
  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override;

 protected:
  /// Returns the cell with every "auto" replaced by what suits the device. The number of ranks and
  /// their library stay as they are; decide_ranks() chooses them.
  virtual Cell decide(const Cell& cell, const DeviceFacts& facts) const = 0;
  /// Parses a decided cell. Error: usage if its values do not fit together; that of reading a file
  /// that the cell names.
  virtual Result<TrainCell> parse(const Cell& cell) const = 0;
};

}  // namespace assay
