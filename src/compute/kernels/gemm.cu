// Matrix products using only the tiles of tile.h, with sums in f32: shows what the portable dialect
// gets out of a matrix unit, compared with the vendor's library.
#include "conversions.h"
#include "tile.h"

// A block computes GEMM_ROWS x GEMM_COLUMNS of the product with GEMM_WAVES_DOWN x GEMM_WAVES_ACROSS
// waves, in steps of GEMM_DEPTH along the depth, with GEMM_STAGES steps in shared memory;
// GEMM_BLOCKS blocks share a multiprocessor. src/compute/vendor/blas/own_gemm.cpp also tries other values;
// on a CPU these defaults are compiled in.
#if !defined(GEMM_ROWS)
#define GEMM_ROWS 64
#define GEMM_COLUMNS 64
#define GEMM_DEPTH 64
#define GEMM_STAGES 2
#define GEMM_BLOCKS 1
#if defined(ON_CPU)
#define GEMM_WAVES_DOWN 1
#define GEMM_WAVES_ACROSS 1
#else
#define GEMM_WAVES_DOWN 2
#define GEMM_WAVES_ACROSS 2
#endif
#endif

namespace {

constexpr int block_rows = GEMM_ROWS, block_columns = GEMM_COLUMNS, block_depth = GEMM_DEPTH;
constexpr int stages = GEMM_STAGES;
static_assert(stages >= 2 && block_depth / tile_depth % 2 == 0, "operands alternate");
constexpr int threads = GEMM_WAVES_DOWN * GEMM_WAVES_ACROSS * static_cast<int>(wave_width);

/// Orders the grid of tiles so that blocks running together share operands in the cache: columns a
/// few tiles wide, one after another.
struct TilePlace {
  u32 row, column;
};
DEVICE TilePlace tile_place(u32 index, u32 tiles_down, u32 tiles_across) {
  constexpr u32 together = 8;
  const u32 group = index / (together * tiles_across), first = group * together;
  const u32 height = tiles_down - first < together ? tiles_down - first : together;
  const u32 in_group = index - first * tiles_across;
  return {first + in_group % height, in_group / height};
}

enum Result { RESULT_AS_OPERANDS, RESULT_F32 };

template <typename Out>
DEVICE void finish(Out& out, float sum, float alpha, float beta) {
  out = encode<Out>(beta == 0 ? alpha * sum : alpha * sum + beta * decode(out));
}

/// d[m,n] = alpha op(a)[m,k] op(b)[k,n] + beta d[m,n]; matrices are row-major with leading
/// dimension ld*, transposed operands stored [k,m] and [n,k]. `aligned`: bit 0 for a, bit 1 for b,
/// see TileCopy. `result`: the type of d. One block per tile along x, one matrix of the batch along
/// y.
template <typename T, bool TRANSPOSE_A, bool TRANSPOSE_B>
DEVICE void gemm(void* d, const T* a, const T* b, u64 m, u64 n, u64 k, u64 lda, u64 ldb, u64 ldd,
                 u64 stride_a, u64 stride_b, u64 stride_d, float alpha, float beta, int aligned,
                 int result) {
  using LeftTile =
      SharedTile<T, TRANSPOSE_A ? block_depth : block_rows, TRANSPOSE_A ? block_rows : block_depth>;
  using RightTile = SharedTile<T, TRANSPOSE_B ? block_columns : block_depth,
                               TRANSPOSE_B ? block_depth : block_columns>;
  constexpr Order left_order = TRANSPOSE_A ? Order::depth_first : Order::depth_last;
  constexpr Order right_order = TRANSPOSE_B ? Order::depth_last : Order::depth_first;
  using Wave = WaveTile<T, block_rows / GEMM_WAVES_DOWN, block_columns / GEMM_WAVES_ACROSS>;

  const u32 tiles_down = static_cast<u32>((m + block_rows - 1) / block_rows);
  const u32 tiles_across = static_cast<u32>((n + block_columns - 1) / block_columns);
  const TilePlace place = tile_place(block_index(), tiles_down, tiles_across);
  const u64 row = u64{place.row} * block_rows, column = u64{place.column} * block_columns;
  a += block_index_y() * stride_a;
  b += block_index_y() * stride_b;

  T* const shared = static_cast<T*>(dynamic_shared());
  const auto left_tile = [=](int stage) {
    return LeftTile{shared + stage * (LeftTile::elements + RightTile::elements)};
  };
  const auto right_tile = [=](int stage) {
    return RightTile{left_tile(stage).data + LeftTile::elements};
  };
  TileCopy<T, LeftTile::rows, LeftTile::columns, threads> left_copy(
      a, lda, TRANSPOSE_A ? 0 : row, TRANSPOSE_A ? row : 0, TRANSPOSE_A ? k : m,
      TRANSPOSE_A ? m : k, (aligned & 1) != 0);
  TileCopy<T, RightTile::rows, RightTile::columns, threads> right_copy(
      b, ldb, TRANSPOSE_B ? column : 0, TRANSPOSE_B ? 0 : column, TRANSPOSE_B ? n : k,
      TRANSPOSE_B ? k : n, (aligned & 2) != 0);
  const u32 steps = static_cast<u32>((k + block_depth - 1) / block_depth);
  const auto begin_copy = [&](int stage) {
    left_copy.begin(left_tile(stage));
    right_copy.begin(right_tile(stage));
    if constexpr (TRANSPOSE_A) {
      left_copy.move_down(block_depth);
    } else {
      left_copy.move_right(block_depth);
    }
    if constexpr (TRANSPOSE_B) {
      right_copy.move_right(block_depth);
    } else {
      right_copy.move_down(block_depth);
    }
  };
  const auto end_copy = [&](int stage) {
    left_copy.end(left_tile(stage));
    right_copy.end(right_tile(stage));
  };

  const int wave = static_cast<int>(wave_index());
  const int wave_row = wave / GEMM_WAVES_ACROSS * Wave::rows;
  const int wave_column = wave % GEMM_WAVES_ACROSS * Wave::columns;
  Wave sums;
  sums.fill(0);
  for (int stage = 0; stage + 1 < stages; ++stage) {
    if (static_cast<u32>(stage) < steps) {
      begin_copy(stage);
      end_copy(stage);
    }
    close_copies();
  }
  typename Wave::Left x[2];
  typename Wave::Right y[2];
  const auto load_operands = [&](int half, int stage, int depth) {
    x[half].template load<left_order>(left_tile(stage), wave_row, depth);
    y[half].template load<right_order>(right_tile(stage), wave_column, depth);
  };
  await_copies<stages - 2>();
  barrier();
  load_operands(0, 0, 0);
  int now = 0, last = stages - 1;  // the stages that this step reads and writes
  for (u32 step = 0; step < steps; ++step) {
    const bool more = step + stages - 1 < steps;
    if (more) begin_copy(last);
    const int next = now + 1 < stages ? now + 1 : 0;
    UNROLL_LOOP
    for (int depth = 0; depth < block_depth; depth += tile_depth) {
      const int half = depth / tile_depth % 2;
      if (depth + tile_depth < block_depth) {  // load the next operands during the product
        load_operands(1 - half, now, depth + tile_depth);
      } else {
        if (more) end_copy(last);
        close_copies();
        await_copies<stages - 2>();
        barrier();  // all threads have the next step, and none still reads this one
        if (step + 1 < steps) load_operands(1 - half, next, 0);
      }
      sums.multiply_add(x[half], y[half]);
    }
    last = now;
    now = next;
  }
  const u64 first_row = row + wave_row, first_column = column + wave_column;
  sums.for_each([&](int i, int j, float sum) {
    const u64 r = first_row + i, c = first_column + j;
    if (r >= m || c >= n) return;
    const u64 at = block_index_y() * stride_d + r * ldd + c;
    if (result == RESULT_F32) {
      finish(static_cast<float*>(d)[at], sum, alpha, beta);
    } else {
      finish(static_cast<T*>(d)[at], sum, alpha, beta);
    }
  });
}

}  // namespace

#define GEMM_KERNEL(name, T, TRANSPOSE_A, TRANSPOSE_B)                                        \
  KERNEL_OF(threads, GEMM_BLOCKS, name, void* d, const T* a, const T* b, u64 m, u64 n, u64 k, \
            u64 lda, u64 ldb, u64 ldd, u64 stride_a, u64 stride_b, u64 stride_d, float alpha, \
            float beta, int aligned, int result) {                                            \
    gemm<T, TRANSPOSE_A, TRANSPOSE_B>(d, a, b, m, n, k, lda, ldb, ldd, stride_a, stride_b,    \
                                      stride_d, alpha, beta, aligned, result);                \
  }
// Named by the transposes of a and b, n or t, and the operand type. On GPUs each takes seconds to
// compile, so GEMM_ONLY and the macros below select a single one.
#if defined(GEMM_ONLY)
GEMM_KERNEL(GEMM_ONLY, GEMM_TYPE, GEMM_TRANSPOSE_A, GEMM_TRANSPOSE_B)
#else
GEMM_KERNEL(gemm_nn_bf16, Bf16, false, false)
GEMM_KERNEL(gemm_nt_bf16, Bf16, false, true)
GEMM_KERNEL(gemm_tn_bf16, Bf16, true, false)
GEMM_KERNEL(gemm_tt_bf16, Bf16, true, true)
GEMM_KERNEL(gemm_nn_f16, F16, false, false)
GEMM_KERNEL(gemm_nt_f16, F16, false, true)
GEMM_KERNEL(gemm_tn_f16, F16, true, false)
GEMM_KERNEL(gemm_tt_f16, F16, true, true)
#endif
