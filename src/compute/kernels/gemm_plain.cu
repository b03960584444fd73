// GEMM of f32 or fp8 with f32 sums, on ordinary arithmetic units: for devices without a library
// that supports it, and to check such libraries.
#include "conversions.h"
#include "wave.h"

namespace {

constexpr int tile = 64, step = 16;  // a block computes tile x tile, `step` of the depth at a time
#if defined(ON_CPU)
constexpr int threads = 1, part = tile;  // a thread's part of the tile is part x part
#else
constexpr int threads = 256, part = 4;
#endif

/// A tile of one operand, [depth][line], where lines are rows of A or columns of B.
struct OperandTile {
  float at[step][tile + 4];

  /// Loads the tile at `line` and `depth`; elements outside the matrix are 0. `line_stride` and
  /// `depth_stride` are the distances between neighbours in elements.
  template <typename T>
  DEVICE void load(const T* from, u64 line, u64 lines, u64 line_stride, u64 depth, u64 depths,
                   u64 depth_stride) {
    for (int e = static_cast<int>(thread_index()); e < step * tile; e += threads) {
      // Neighbouring threads read neighbouring addresses in either layout of the matrix.
      const int k = depth_stride == 1 ? e % step : e / tile;
      const int i = depth_stride == 1 ? e / step : e % tile;
      const bool inside = line + i < lines && depth + k < depths;
      at[k][i] =
          inside ? decode(from[(line + i) * line_stride + (depth + k) * depth_stride]) : 0.0f;
    }
  }
};

/// Calls store(row, column, sum over the depth of a b) for each element of this block's tile.
template <typename A, typename B, typename Store>
DEVICE void product(const A* a, const B* b, u64 m, u64 n, u64 k, u64 row_a, u64 depth_a,
                    u64 depth_b, u64 column_b, Store store) {
  SHARED OperandTile left, right;
  const u64 across = (n + tile - 1) / tile;
  const u64 row = block_index() / across * tile, column = block_index() % across * tile;
  const int thread = static_cast<int>(thread_index());
  const int my_row = thread / (tile / part) * part, my_column = thread % (tile / part) * part;
  float sums[part][part] = {};
  for (u64 depth = 0; depth < k; depth += step) {
    left.load(a, row, m, row_a, depth, k, depth_a);
    right.load(b, column, n, column_b, depth, k, depth_b);
    barrier();
    for (int s = 0; s < step; ++s) {
      UNROLL_LOOP
      for (int i = 0; i < part; ++i) {
        const float x = left.at[s][my_row + i];
        UNROLL_LOOP
        for (int j = 0; j < part; ++j) sums[i][j] += x * right.at[s][my_column + j];
      }
    }
    barrier();  // nobody reads the tiles that the next step overwrites any more
  }
  for (int i = 0; i < part; ++i) {
    for (int j = 0; j < part; ++j) {
      const u64 r = row + my_row + i, c = column + my_column + j;
      if (r < m && c < n) store(r, c, sums[i][j]);
    }
  }
}

/// Factors of one operand: for each of its lines, or one for all; null: 1.
struct LineFactors {
  const float* factors;
  u64 stride;

  DEVICE float at(u64 line) const { return factors != nullptr ? factors[line * stride] : 1.0f; }
};

/// D of f32 or, with `narrow`, of bf16.
struct Destination {
  void* d;
  u64 ldd;
  float alpha, beta;
  LineFactors rows, columns;
  bool narrow;

  DEVICE void store(u64 row, u64 column, float sum) const {
    const u64 i = row * ldd + column;
    float* const wide = static_cast<float*>(d);
    Bf16* const codes = static_cast<Bf16*>(d);
    float result = alpha * (rows.at(row) * columns.at(column)) * sum;
    if (beta != 0) result += beta * (narrow ? decode(codes[i]) : wide[i]);
    if (narrow) {
      codes[i] = encode<Bf16>(result);
    } else {
      wide[i] = result;
    }
  }
};

}  // namespace

/// Computes d[m,n] = alpha a b + beta d. Element (i, k) of a is at i * row_a + k * depth_a, element
/// (k, j) of b at k * depth_b + j * column_b. Grid: tiles of d along x, matrices of a batch along
/// y.
KERNEL_OF(threads, 2, gemm_f32, float* d, const float* a, const float* b, u64 m, u64 n, u64 k,
          u64 row_a, u64 depth_a, u64 depth_b, u64 column_b, u64 ldd, u64 stride_a, u64 stride_b,
          u64 stride_d, float alpha, float beta) {
  const Destination to = {d + block_index_y() * stride_d, ldd, alpha, beta, {}, {}, false};
  product(a + block_index_y() * stride_a, b + block_index_y() * stride_b, m, n, k, row_a, depth_a,
          depth_b, column_b, [&](u64 row, u64 column, float sum) { to.store(row, column, sum); });
}

/// Does that for one matrix of fp8 codes, whose numbers are codes times a factor (null: 1), with
/// `lines` one for each row of a and each column of b. d is bf16 if `narrow`, else f32.
#define FP8_KERNEL(A, a_name, B, b_name)                                                         \
  KERNEL_OF(threads, 2, gemm_##a_name##_##b_name, void* d, const A* a, const B* b, u64 m, u64 n, \
            u64 k, u64 row_a, u64 depth_a, u64 depth_b, u64 column_b, u64 ldd, float alpha,      \
            float beta, const float* factors_a, const float* factors_b, int lines, int narrow) { \
    const u64 stride = lines != 0 ? 1 : 0;                                                       \
    const Destination to = {                                                                     \
        d, ldd, alpha, beta, {factors_a, stride}, {factors_b, stride}, narrow != 0};             \
    product(a, b, m, n, k, row_a, depth_a, depth_b, column_b,                                    \
            [&](u64 row, u64 column, float sum) { to.store(row, column, sum); });                \
  }
FP8_KERNEL(E4m3, e4m3, E4m3, e4m3)
FP8_KERNEL(E5m2, e5m2, E4m3, e4m3)
FP8_KERNEL(E4m3Fnuz, e4m3_fnuz, E4m3Fnuz, e4m3_fnuz)
FP8_KERNEL(E5m2Fnuz, e5m2_fnuz, E4m3Fnuz, e4m3_fnuz)
