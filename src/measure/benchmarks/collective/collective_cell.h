// The axes of the collective benchmark, and the parsed form of a cell, which is a point on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "measure/benchmarks/collective/collective_layout.h"
#include "measure/grid/axis.h"
#include "ranks/team/team.h"
#include "results/record/cell.h"

namespace assay {

struct CollectiveCell {
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  DataType type = DataType::f32;
  std::optional<Reduction> reduction;  ///< empty for redop=none
  bool in_place = false;
  int ranks = 0;           ///< 0: all ranks, before expansion
  std::string library;     ///< communicator kind; "auto" before expansion, or if no kind fits
  bool graph = false;      ///< replays operations from a graph; otherwise queues each one
  std::uint64_t size = 0;  ///< bytes requested for the larger of a rank's two buffers
};

const std::vector<Axis>& collective_axes();
/// Returns "auto" and the names of all communicator kinds, also of those that a build lacks. Every
/// axis that selects a communication library allows them; some axes allow more, such as "none".
std::vector<std::string> library_choices();
/// Parses a cell whose values the axes have checked.
CollectiveCell parse_collective_cell(const Cell& cell);
/// Returns the operation that the cell measures; its element count is that of block_count(). Before
/// expansion, "all" ranks count as one.
CollectiveShape shape_of(const CollectiveCell& cell);

/// Returns the concrete cell for this device and team. "all" ranks become the team's size, and the
/// library "auto" becomes best_communicator_kind(), if there is one. Where the device encodes fp8
/// as FNUZ (has_fnuz_fp8()), e4m3 and e5m2 become the FNUZ types. `redop` becomes none for
/// operations that do not reduce.
Cell expand_collective_cell(const Cell& cell, const Device& device, const Team& team);

/// Returns why an expanded cell cannot be measured; empty if neither the cell nor the device and
/// its free memory prevent it. Only preparing the cell shows whether the team has that many ranks
/// and whether the library supports the operation.
std::optional<std::string> collective_unsupported(const CollectiveCell& cell, const Device& device);

}  // namespace assay
