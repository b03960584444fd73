// A cell of the benchmark `tensor_parallel`: its axes, and what they say.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "measure/benchmarks/decode/decoder_case.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// Two matrices [hidden, hidden], one after the other: of the first each rank has some outputs,
/// which all ranks gather; the second one is whole on each. The toy of
/// https://github.com/dstackai/benchmarks, amd/baremetal_container_partition.
struct ToyCell {
  std::int64_t batch = 0, hidden = 0;
  DataType precision = DataType::f32;

  std::uint64_t bytes(int ranks) const;  ///< of memory on a rank, with what verifying takes
};

struct TensorCell {
  std::variant<ToyCell, DecoderCell> model;
  int ranks = 1;
  std::string library;  ///< "none" of one rank
  bool graph = true;

  /// Of memory on each rank.
  std::uint64_t bytes() const;
};

const std::vector<Axis>& tensor_axes();

/// Whether the cell only repeats one without a setting that its model does not have.
bool is_redundant_tensor_cell(const Cell& cell);
/// The cells that are meant: of the team's ranks, with what the device decides decided.
std::vector<Cell> expand_tensor_cell(const Cell& cell, const Device& device, const Team& team);

/// Of an expanded cell. Error: usage, naming what does not fit together.
Result<TensorCell> parse_tensor_cell(const Cell& cell, const Device& device);

}  // namespace assay
