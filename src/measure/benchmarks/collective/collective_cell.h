// The cells of the collective benchmark: its axes, and the parsed form of a cell.
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
  std::string library;  ///< "auto" before expansion, or if no library fits
  bool graph = false;
  std::uint64_t size = 0;  ///< requested bytes of the larger buffer
};

const std::vector<Axis>& collective_axes();
/// The values of every axis that selects a communication library: "auto" and all known kinds,
/// including those not built in.
std::vector<std::string> library_choices();
CollectiveCell parse_collective_cell(const Cell& cell);
CollectiveShape shape_of(const CollectiveCell& cell);

/// The concrete cell for this device and team: `ranks` becomes a number, `library` a kind if one
/// fits, fp8 types get the device's encoding, and `redop` becomes none for operations that do not
/// reduce.
Cell expand_collective_cell(const Cell& cell, const Device& device, const Team& team);

/// Returns why the cell cannot be measured, as far as this can be decided from the cell and the
/// device; empty if nothing prevents it.
std::optional<std::string> collective_unsupported(const CollectiveCell& cell, const Device& device);

}  // namespace assay
