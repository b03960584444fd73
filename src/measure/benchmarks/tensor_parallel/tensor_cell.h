// A cell of the benchmark `tensor_parallel`: its axes and their values.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "measure/benchmarks/decode/decoder_case.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// Two layers with matrices [hidden, hidden]. The first is column-parallel: each rank computes some
/// of its outputs, and all ranks gather them. The second is replicated on every rank. The model is
/// the toy of https://github.com/dstackai/benchmarks, amd/baremetal_container_partition.
struct LayersCell {
  std::int64_t batch = 0;   ///< rows of the input
  std::int64_t hidden = 0;  ///< columns
  DataType precision = DataType::f32;

  std::uint64_t bytes(int ranks) const;  ///< device memory of one rank, including verification
};

struct TensorCell {
  std::variant<LayersCell, DecoderCell> model;
  int ranks = 1;
  std::string library;  ///< the communication library; "none" with one rank
  bool graph = true;    ///< a pass is replayed as a graph

  /// Device memory in bytes that each rank needs.
  std::uint64_t bytes() const;
};

const std::vector<Axis>& tensor_axes();

/// Returns whether the cell equals another one because its model ignores one of its axes.
bool is_redundant_tensor_cell(const Cell& cell);
/// The concrete cells for this team and device: `ranks` and all "auto" values are decided.
std::vector<Cell> expand_tensor_cell(const Cell& cell, const Device& device, const Team& team);

/// Parses an expanded cell. Error: usage, naming the values that do not fit together; unsupported
/// if expanding could not replace an "auto", as without a communication library for the device.
Result<TensorCell> parse_tensor_cell(const Cell& cell, const Device& device);

}  // namespace assay
