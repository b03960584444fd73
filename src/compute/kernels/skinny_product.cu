// The product of a few rows with a matrix, which is read once at the memory's speed: what a decoder
// multiplies for a token of each of some sequences. Lanes read lines of the matrix straight into the
// operands of matrix units, where codes of a quantized one become numbers; both operands take
// elements along the depth in the order in which a lane's wide loads bring them.
#include "lane_row_loads.h"
#include "quantized.h"

#define SKINNY_THREADS 256  // of a block
// What the host chooses: rows of x that a block takes, a multiple of 16; how many times each lane
// has read ahead of what it computes; blocks that leave each thread the registers for that; and with
// SKINNY_ONE the one kernel to compile.
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

using Left = SmallTile::Left;  // of lines of the matrix x rows
using Right = SmallTile::Right;

constexpr int line_tiles = 2, row_tiles = SKINNY_ROWS / 16;
static_assert(SKINNY_ROWS % 16 == 0, "whole tiles of rows");
#if defined(ON_CPU)
constexpr u32 skinny_waves = 1, skinny_lanes = 1;
#else
constexpr u32 skinny_waves = SKINNY_THREADS / wave_width, skinny_lanes = SKINNY_THREADS;
#endif

/// Instructions for whose depth a lane reads at a time: 16 bytes of the matrix on a GPU.
template <typename Element>
constexpr int run_steps = 4 / sizeof(Element);

/// Numbers that are bf16 exactly, as every code of one byte is.
template <int N>
DEVICE Pack<Bf16, N> exact_bf16(Pack<float, N> numbers) {
#if defined(ON_CPU)
  return from_floats<Bf16, N>(numbers);
#else
  Pack<u32, N / 2> words;
  UNROLL_LOOP
  for (int i = 0; i < N / 2; ++i) {
    words.v[i] = upper_halves(bits_of(numbers.v[2 * i]), bits_of(numbers.v[2 * i + 1]));
  }
  return bits_as<Pack<Bf16, N>>(words);
#endif
}

/// Elements of the matrix as matrix units take them.
template <typename Element>
DEVICE SmallTile::Elements numbers_of(Pack<Element, lane_depth> elements) {
  if constexpr (same<Element, Bf16>) {
    return elements;
  } else {
    using Codes = CodesOf<Element>;
    return exact_bf16(Codes::template numbers<lane_depth>(
        bits_as<typename Codes::template Raw<lane_depth>>(elements)));
  }
}

/// The matrix of a product. With SwiGLU, lines j and outputs + j make one output.
template <typename Element>
struct SkinnyMatrix {
  const Element* elements;
  u64 outputs, inputs;
  bool swiglu;

  DEVICE u64 outputs_of_tile() const { return swiglu ? 16 : 16 * line_tiles; }
  /// The output that line `line` of tile `m` belongs to, in the tile from output `first` on.
  DEVICE u64 output(u64 first, int m, int line) const {
    return first + static_cast<u64>(swiglu ? line : 16 * m + line);
  }
  /// Outputs that are not there are the last one.
  DEVICE const Element* line(u64 first, int m, int line) const {
    const u64 wanted = output(first, m, line), there = wanted < outputs ? wanted : outputs - 1;
    return elements + (swiglu && m == 1 ? outputs + there : there) * inputs;
  }
};

/// This lane's lines of a tile, on their way.
template <typename Element>
struct MatrixLines {
  using Run = LineRun<Element, run_steps<Element>>;
  Run ahead[SKINNY_AHEAD][line_tiles][Left::lines];

  /// Fetches what this lane reads from `at` on, for place `p` ahead.
  DEVICE void fetch(int p, const SkinnyMatrix<Element>& matrix, u64 first, u64 at) {
    UNROLL_LOOP
    for (int m = 0; m < line_tiles; ++m) {
      UNROLL_LOOP
      for (int l = 0; l < Left::lines; ++l) {
        ahead[p][m][l].template load<true>(matrix.line(first, m, Left::line(l)), at,
                                           matrix.inputs);
      }
    }
  }
};

/// The sums of a wave, of its share of the depth.
struct SkinnySums {
  SmallTile tile[line_tiles][row_tiles];

  DEVICE void clear() {
    UNROLL_LOOP
    for (int m = 0; m < line_tiles; ++m) {
      UNROLL_LOOP
      for (int n = 0; n < row_tiles; ++n) tile[m][n].fill(0);
    }
  }

  /// Adds the products of `left` with the elements of x from `at` on of this lane.
  template <int STEPS>
  DEVICE void add(const Left (&left)[STEPS][line_tiles], const Bf16* x, u64 rows, u64 at,
                  u64 inputs) {
    UNROLL_LOOP
    for (int n = 0; n < row_tiles; ++n) {
      LineRun<Bf16, STEPS> values[Right::lines];
      UNROLL_LOOP
      for (int l = 0; l < Right::lines; ++l) {
        // Rows that are not there are the last one; no sum of theirs is stored.
        const u64 row = static_cast<u64>(16 * n + Right::line(l));
        values[l].template load<false>(x + (row < rows ? row : rows - 1) * inputs, at, inputs);
      }
      UNROLL_LOOP
      for (int s = 0; s < STEPS; ++s) {
        Right right;
        UNROLL_LOOP
        for (int l = 0; l < Right::lines; ++l) right.set(l, values[l].step[s]);
        UNROLL_LOOP
        for (int m = 0; m < line_tiles; ++m) tile[m][n].multiply_add(left[s][m], right);
      }
    }
  }
};

template <typename Element>
DEVICE void skinny_product(Bf16* y, const Bf16* x, const SkinnyMatrix<Element>& matrix,
                           const float* factors, const Bf16* bias, u64 rows) {
  // Rows are this far apart, so that lanes of a wave store to different banks.
  constexpr int row_stride = 20;
  SHARED float scratch[skinny_waves][SKINNY_ROWS][row_stride];
  constexpr int steps = run_steps<Element>;
  constexpr u64 wave_depth = steps * tile_depth, stride = skinny_waves * wave_depth;
  const u64 inputs = matrix.inputs, outputs = matrix.outputs;
  const u64 wave_begin = u64{wave_index()} * wave_depth;
  const u64 lane_offset = static_cast<u64>(SmallTile::depth_part() * steps * lane_depth);
  MatrixLines<Element> lines;
  const auto fetch_first = [&](u64 first) {
    UNROLL_LOOP
    for (int p = 0; p < SKINNY_AHEAD; ++p) {
      lines.fetch(p, matrix, first, wave_begin + p * stride + lane_offset);
    }
  };
  const Tiles mine = my_tiles(outputs, matrix.outputs_of_tile());
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
        Left left[steps][line_tiles];
        UNROLL_LOOP
        for (int s = 0; s < steps; ++s) {
          UNROLL_LOOP
          for (int m = 0; m < line_tiles; ++m) {
            UNROLL_LOOP
            for (int l = 0; l < Left::lines; ++l) {
              left[s][m].set(l, numbers_of<Element>(lines.ahead[p][m][l].step[s]));
            }
          }
        }
        lines.fetch(p, matrix, first, at + SKINNY_AHEAD * stride);
        sums.add(left, x, rows, at, inputs);
      }
    }
    if (first + mine.step < mine.end) fetch_first(first + mine.step);
    constexpr u32 results_of_lane = 16 * SKINNY_ROWS / skinny_lanes;
    float gates[results_of_lane];
    UNROLL_LOOP
    for (int m = 0; m < line_tiles; ++m) {
      UNROLL_LOOP
      for (int n = 0; n < row_tiles; ++n) {
        sums.tile[m][n].for_each([&](int line, int row, float sum) {
          scratch[wave_index()][16 * n + row][line] = sum;
        });
      }
      barrier();
      UNROLL_LOOP
      for (u32 r = 0; r < results_of_lane; ++r) {
        const u32 i = thread_index() + r * skinny_lanes, line = i % 16;
        const u64 row = i / 16, output = matrix.output(first, m, static_cast<int>(line));
        if (output >= outputs || row >= rows) continue;
        float sum = 0;  // of the waves in their order
        for (u32 w = 0; w < skinny_waves; ++w) sum += scratch[w][row][line];
        if (factors != nullptr) sum *= factors[matrix.swiglu && m == 1 ? outputs + output : output];
        if (bias != nullptr) sum += decode(bias[output]);
        if (matrix.swiglu && m == 0) {
          gates[r] = silu(sum);
        } else {
          y[row * outputs + output] = encode<Bf16>(matrix.swiglu ? gates[r] * sum : sum);
        }
      }
      barrier();
    }
  }
}

}  // namespace

/// y[rows, outputs] = x[rows, inputs] times the transpose of matrix[outputs, inputs], whose rows, if
/// they are codes, have `factors`[outputs]; `bias`[outputs] may be null. At most SKINNY_ROWS rows;
/// `inputs` is a multiple of 16. With `swiglu`, the matrix has twice as many rows and factors, and y
/// = silu(x times the first half) times x times the second, without a bias. The bits of a row depend
/// on no other row.
#define SKINNY_KERNEL(Element, name)                                                           \
  KERNEL_OF(SKINNY_THREADS, SKINNY_BLOCKS, name, Bf16* y, const Bf16* x, const Element* matrix, \
            const float* factors, const Bf16* bias, u64 rows, u64 outputs, u64 inputs,         \
            int swiglu) {                                                                      \
    const SkinnyMatrix<Element> whole = {matrix, outputs, inputs, swiglu != 0};                \
    skinny_product(y, x, whole, factors, bias, rows);                                          \
  }
#if !defined(SKINNY_ONE) || defined(SKINNY_OF_bf16)
SKINNY_KERNEL(Bf16, skinny_product_bf16)
#endif
#if !defined(SKINNY_ONE) || defined(SKINNY_OF_e4m3)
SKINNY_KERNEL(E4m3, skinny_product_e4m3_bf16)
#endif
#if !defined(SKINNY_ONE) || defined(SKINNY_OF_e4m3_fnuz)
SKINNY_KERNEL(E4m3Fnuz, skinny_product_e4m3_fnuz_bf16)
#endif
#if !defined(SKINNY_ONE) || defined(SKINNY_OF_i8)
SKINNY_KERNEL(i8, skinny_product_i8_bf16)
#endif
