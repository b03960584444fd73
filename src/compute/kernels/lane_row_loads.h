// Loads of a matrix's lines from memory straight into operands of matrix units. Both operands of a
// product hold elements along the depth in the order in which wide loads deliver them.
#pragma once

#include "tile.h"

namespace {

/// The tile that one or two instructions of matrix units compute.
using SmallTile = WaveTile<Bf16, 16, 16>;

/// Number of elements of a line that a lane holds for one multiply_add() of a SmallTile.
constexpr int lane_depth = tile_depth / SmallTile::parts;
/// Consecutive elements of one line, held by one lane.
template <typename Element, int STEPS>
struct LineRun {
  static constexpr int elements = STEPS * lane_depth;
  Pack<Element, lane_depth> step[STEPS];

  /// Loads elements from `at` on from a line of `width` elements, a multiple of 16; 0 beyond its
  /// end. `at` is a multiple of `elements`, so that a run lies within the line or beyond its end.
  template <bool STREAMING>
  DEVICE void load(const Element* line, u64 at, u64 width) {
#if defined(ON_CPU)
    for (int s = 0; s < STEPS; ++s, at += lane_depth) {
      step[s] = at < width ? load_pack<lane_depth>(line + at) : Pack<Element, lane_depth>{};
    }
#else
    struct Loads {
      Pack<u32, 4> load[elements * sizeof(Element) / 16];
    } loads = {};
    if (at < width) {
      const auto* const from = reinterpret_cast<const Pack<u32, 4>*>(line + at);
      UNROLL_LOOP
      for (u32 i = 0; i < sizeof(loads) / 16; ++i) {
        loads.load[i] = STREAMING ? load_streaming(from + i) : from[i];
      }
    }
    *this = bits_as<LineRun>(loads);
#endif
  }
};

}  // namespace
