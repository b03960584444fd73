// How matrix instructions sum one after another or in pairs; aligned_sums.h has CDNA 3's sums of
// narrow types. None of this is in AMD's manuals. The rules for f16, bf16, xf32, fp8 and bf8 were
// measured bit by bit on CDNA 2 and CDNA 3 by public research ("MMA-Sim: Bit-Accurate Reference
// Model of Tensor Cores and Matrix Cores", arXiv 2511.10909).
#pragma once

#include <cmath>
#include <type_traits>

#include "emulator/instruction.h"

namespace mi300x {

/// One block's operands: D = A * B + C. A is size x depth, B is rows x size, C and D are size x
/// size. A's value `place` of a row is multiplied with row `place` of B, for a sparse A with
/// row[place] of B.
template <class Value, int size, int depth, int rows>
struct Block {
  Value a[size][depth];
  Value b[rows][size];
  Value c[size][size];
  u8 row_of_b[size][depth];
};

/// f32 and f64: one fused multiply-add after another, with k ascending. Integers wrap around.
template <class Value, int size, int depth, int rows>
void add_in_turn(Block<Value, size, depth, rows>& block) {
  for (int i = 0; i < size; ++i)
    for (int place = 0; place < depth; ++place) {
      const Value a = block.a[i][place];
      const Value* b = block.b[block.row_of_b[i][place]];
      for (int j = 0; j < size; ++j)
        if constexpr (std::is_integral_v<Value>)
          block.c[i][j] = Value(u32(block.c[i][j]) + u32(a * b[j]));
        else
          block.c[i][j] = std::fma(a, b[j], block.c[i][j]);
    }
}

/// Replaces numbers below the least normal value by 0 of the same sign.
inline float flush(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

/// CDNA 2's f16 and bf16: products in f32 are added in pairs, `group` of them together, then to C;
/// every step rounds and flushes. The caller has flushed A and B as their types require.
template <int group, int size, int depth, int rows>
void add_in_pairs(Block<float, size, depth, rows>& block) {
  for (int i = 0; i < size; ++i) {
    float* c = block.c[i];
    for (int j = 0; j < size; ++j) c[j] = std::fabs(c[j]) < 0x1p-126f ? 0.0f : c[j];
    for (int place = 0; place < depth; place += group) {
      const float* a = block.a[i] + place;
      const float(*b)[size] = block.b + place;
      for (int j = 0; j < size; ++j) {
        float sum = flush(flush(a[0] * b[0][j]) + flush(a[1] * b[1][j]));
        if constexpr (group == 4)
          sum = flush(sum + flush(flush(a[2] * b[2][j]) + flush(a[3] * b[3][j])));
        c[j] = flush(c[j] + sum);
      }
    }
  }
}

}  // namespace mi300x
