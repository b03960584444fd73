// The product of a few rows with a quantized matrix, whose codes are read once: what a decoder
// multiplies for a token of each of some sequences. Lanes read lines of the matrix straight into the
// operands of matrix units, where codes become numbers; both operands take elements along the depth
// in the order in which a lane's wide loads bring them.
#include "quantized.h"
#include "tile.h"

#define SKINNY_THREADS 256  // of a block
// What the host chooses: rows of x that a block takes, a multiple of 16; how many times each lane
// has read ahead of what it computes; and blocks that leave each thread the registers for that.
#ifndef SKINNY_ROWS
#define SKINNY_ROWS 16
#endif
#ifndef SKINNY_AHEAD
#define SKINNY_AHEAD 2
#endif
#ifndef SKINNY_BLOCKS
#define SKINNY_BLOCKS 1
#endif

namespace {

using SkinnyTile = WaveTile<Bf16, 16, 16>;  // outputs x rows

constexpr int output_tiles = 2, row_tiles = SKINNY_ROWS / 16;
constexpr int tile_outputs = 16 * output_tiles;  // of a block's tile; its waves share the depth
/// Elements of a line that a lane has in one instruction.
constexpr int lane_depth = tile_depth / SkinnyTile::parts;
/// Steps of an instruction's depth that a lane reads at a time: 16 bytes of codes on a GPU.
constexpr int run_steps = 4, run_elements = run_steps * lane_depth;
/// What a wave reads of each line at a time.
constexpr int wave_depth = run_steps * tile_depth;
#if defined(ON_CPU)
constexpr u32 skinny_waves = 1;
#else
constexpr u32 skinny_waves = SKINNY_THREADS / wave_width;
#endif
static_assert(SKINNY_ROWS % 16 == 0, "whole tiles of rows");

/// Consecutive elements of a line, of one lane.
template <typename Element>
struct LineRun {
  Pack<Element, lane_depth> step[run_steps];

  /// Those from `at` on of a line of `width`, a multiple of 16; 0 behind its end.
  template <bool STREAMING>
  DEVICE void load(const Element* line, u64 at, u64 width) {
#if defined(ON_CPU)
    for (int s = 0; s < run_steps; ++s, at += lane_depth) {
      step[s] = at < width ? load_pack<lane_depth>(line + at) : Pack<Element, lane_depth>{};
    }
#else
    struct Loads {
      Pack<u32, 4> load[run_elements * sizeof(Element) / 16];
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
  DEVICE void clear() {
    UNROLL_LOOP
    for (int s = 0; s < run_steps; ++s) step[s] = {};
  }
};

/// Codes as the numbers that matrix units take; each is a bf16 exactly.
template <typename Code>
DEVICE SkinnyTile::Elements numbers_of(Pack<Code, lane_depth> codes) {
  using Codes = CodesOf<Code>;
  return from_floats<Bf16, lane_depth>(Codes::template numbers<lane_depth>(
      bits_as<typename Codes::template Raw<lane_depth>>(codes)));
}

/// This lane's lines of the outputs of a tile, on their way.
template <typename Code>
struct MatrixLines {
  using Left = SkinnyTile::Left;
  LineRun<Code> ahead[SKINNY_AHEAD][output_tiles][Left::lines];

  /// Those whose lane reads `at`, of the tile from output `first` on, for place `p` ahead. Outputs
  /// that are not there are the last one.
  DEVICE void fetch(int p, const Code* codes, u64 first, u64 outputs, u64 at, u64 inputs) {
    UNROLL_LOOP
    for (int m = 0; m < output_tiles; ++m) {
      UNROLL_LOOP
      for (int l = 0; l < Left::lines; ++l) {
        const u64 output = first + static_cast<u64>(16 * m + Left::line(l));
        const u64 line = output < outputs ? output : outputs - 1;
        ahead[p][m][l].template load<true>(codes + line * inputs, at, inputs);
      }
    }
  }
};

/// The sums of a wave, of all its share of the depth.
struct SkinnySums {
  SkinnyTile tile[output_tiles][row_tiles];

  DEVICE void clear() {
    UNROLL_LOOP
    for (int m = 0; m < output_tiles; ++m) {
      UNROLL_LOOP
      for (int n = 0; n < row_tiles; ++n) tile[m][n].fill(0);
    }
  }

  /// Adds the products of `left` with the elements of x from `at` on of this lane.
  DEVICE void add(const SkinnyTile::Left (&left)[run_steps][output_tiles], const Bf16* x, u64 rows,
                  u64 at, u64 inputs) {
    using Right = SkinnyTile::Right;
    UNROLL_LOOP
    for (int n = 0; n < row_tiles; ++n) {
      LineRun<Bf16> values[Right::lines];
      UNROLL_LOOP
      for (int l = 0; l < Right::lines; ++l) {
        const u64 row = static_cast<u64>(16 * n + Right::line(l));
        if (row < rows) {
          values[l].template load<false>(x + row * inputs, at, inputs);
        } else {
          values[l].clear();
        }
      }
      UNROLL_LOOP
      for (int s = 0; s < run_steps; ++s) {
        Right right;
        UNROLL_LOOP
        for (int l = 0; l < Right::lines; ++l) right.set(l, values[l].step[s]);
        UNROLL_LOOP
        for (int m = 0; m < output_tiles; ++m) tile[m][n].multiply_add(left[s][m], right);
      }
    }
  }
};

template <typename Code>
DEVICE void skinny_product(Bf16* y, const Bf16* x, const Code* codes, const float* factors,
                           const Bf16* bias, u64 rows, u64 outputs, u64 inputs) {
  // Columns are this far apart, so that lanes of a wave store to different banks.
  constexpr int column = 20;
  SHARED float scratch[skinny_waves][SKINNY_ROWS][column];
  using Left = SkinnyTile::Left;
  constexpr u64 stride = u64{skinny_waves} * wave_depth;
  const u64 wave_begin = u64{wave_index()} * wave_depth;
  const u64 lane_offset = static_cast<u64>(SkinnyTile::depth_part() * run_elements);
  MatrixLines<Code> lines;
  const auto fetch_first = [&](u64 first) {
    UNROLL_LOOP
    for (int p = 0; p < SKINNY_AHEAD; ++p) {
      lines.fetch(p, codes, first, outputs, wave_begin + p * stride + lane_offset, inputs);
    }
  };
  const Tiles mine = my_tiles(outputs, tile_outputs);
  let_next_kernel_begin();  // it waits in turn before it touches what this one writes
  if (mine.begin < mine.end) fetch_first(mine.begin);  // while the kernel before still runs
  wait_for_previous_kernel();
  for (u64 first = mine.begin; first < mine.end; first += mine.step) {
    SkinnySums sums;
    sums.clear();
    for (u64 from = wave_begin; from < inputs; from += SKINNY_AHEAD * stride) {
      UNROLL_LOOP
      for (int p = 0; p < SKINNY_AHEAD; ++p) {
        const u64 wave_at = from + p * stride, at = wave_at + lane_offset;
        if (wave_at >= inputs) continue;
        Left left[run_steps][output_tiles];
        UNROLL_LOOP
        for (int s = 0; s < run_steps; ++s) {
          UNROLL_LOOP
          for (int m = 0; m < output_tiles; ++m) {
            UNROLL_LOOP
            for (int l = 0; l < Left::lines; ++l) {
              left[s][m].set(l, numbers_of<Code>(lines.ahead[p][m][l].step[s]));
            }
          }
        }
        lines.fetch(p, codes, first, outputs, at + SKINNY_AHEAD * stride, inputs);
        sums.add(left, x, rows, at, inputs);
      }
    }
    if (first + mine.step < mine.end) fetch_first(first + mine.step);
    for (int m = 0; m < output_tiles; ++m) {
      UNROLL_LOOP
      for (int n = 0; n < row_tiles; ++n) {
        sums.tile[m][n].for_each([&](int output, int row, float sum) {
          scratch[wave_index()][16 * n + row][output] = sum;
        });
      }
      barrier();
      for (u32 i = thread_index(); i < 16 * SKINNY_ROWS; i += block_threads()) {
        const u64 output = first + static_cast<u64>(16 * m) + i % 16, row = i / 16;
        if (output >= outputs || row >= rows) continue;
        float sum = 0;  // of the waves in their order
        for (u32 w = 0; w < skinny_waves; ++w) sum += scratch[w][row][i % 16];
        sum *= factors[output];
        if (bias != nullptr) sum += decode(bias[output]);
        y[row * outputs + output] = encode<Bf16>(sum);
      }
      barrier();
    }
  }
}

}  // namespace

/// y[rows, outputs] = x[rows, inputs] times the transpose of a matrix: codes[outputs, inputs] times
/// factors[outputs] of its rows; `bias`[outputs] may be null. At most SKINNY_ROWS rows; `inputs` is
/// a multiple of 16. The bits of a row depend on no other row.
#define SKINNY_KERNEL(Code, code)                                                                 \
  KERNEL_OF(SKINNY_THREADS, SKINNY_BLOCKS, skinny_product_##code##_bf16, Bf16* y, const Bf16* x,  \
            const Code* codes, const float* factors, const Bf16* bias, u64 rows, u64 outputs,     \
            u64 inputs) {                                                                         \
    skinny_product(y, x, codes, factors, bias, rows, outputs, inputs);                            \
  }
SKINNY_KERNEL(E4m3, e4m3)
SKINNY_KERNEL(E4m3Fnuz, e4m3_fnuz)
SKINNY_KERNEL(i8, i8)
