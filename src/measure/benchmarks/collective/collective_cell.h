// The cells of the collective benchmark: its axes, and what one cell asks for.
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
  std::optional<Reduction> reduction;  ///< none for redop=none
  bool in_place = false;
  int ranks = 0;        ///< 0: all ranks, before expansion
  std::string library;  ///< "auto" before expansion, or if no kind fits
  bool graph = false;
  std::uint64_t size = 0;  ///< requested bytes of the larger buffer
};

const std::vector<Axis>& collective_axes();
/// The choices of every axis that picks a library: "auto" and the known kinds, built in or not.
std::vector<std::string> library_choices();
CollectiveCell parse_collective_cell(const Cell& cell);
CollectiveShape shape_of(const CollectiveCell& cell);

/// The cell on this device and team: `ranks` becomes a number, `library` a kind if one fits, fp8
/// types take the device's encoding, and `redop` is none where nothing is reduced.
Cell expand_collective_cell(const Cell& cell, const Device& device, const Team& team);

/// Why the cell cannot be measured, as far as the cell and the device show.
std::optional<std::string> collective_unsupported(const CollectiveCell& cell, const Device& device);

}  // namespace assay
