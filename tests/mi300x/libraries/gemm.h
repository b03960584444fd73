// A column-major GEMM with the epilogues of hipBLASLt, in double precision, on host memory.
#pragma once

#include "libraries/number.h"

namespace mi300x {

struct Matrix {
  Number type = Number::unknown;
  void* data = nullptr;
  std::int64_t rows = 0, columns = 0, ld = 0, stride = 0;
};

/// D = op(A) op(B) alpha + beta C. A, B, C and D are given as stored in memory.
struct Gemm {
  bool transpose_a = false, transpose_b = false;
  Matrix a, b, c, d;
  std::int64_t batch = 1;
  double alpha = 1, beta = 0;

  // These members are used only for hipBLASLt.
  unsigned epilogue = 1;  ///< hipblasLtEpilogue_t: a sum of the bits below
  void* bias = nullptr;
  Number bias_type = Number::unknown;
  Matrix aux;
  const float* scale_a = nullptr;  ///< factors in device memory; null: 1
  const float* scale_b = nullptr;
  bool scales_lines = false;       ///< scale_a has a factor for each row of D, scale_b each column
  const float* scale_d = nullptr;  ///< factor of the stored result, applied after the epilogue
  float* amax_d = nullptr;         ///< receives the largest |D| before `scale_d`

  std::int64_t inner() const { return transpose_a ? a.rows : a.columns; }
  double operations() const;
  /// Checks every operand, then computes. Throws what the virtual runtime throws for invalid
  /// memory. With MI300X_WRONG_PRODUCTS set, the last element of the result is wrong, as of a
  /// library that reports success and lies.
  void run() const;
  /// Returns model time at the chip's peak rates; never a measurement.
  double seconds() const;
};

constexpr unsigned epilogue_relu = 2, epilogue_bias = 4, epilogue_bias_gradient = 16,
                   epilogue_gelu = 32, epilogue_gelu_gradient = 64, epilogue_aux = 128,
                   epilogue_gradient_a = 256, epilogue_gradient_b = 512;

/// Returns whether the matrices of a batch, `rows` high, lie within common columns of `ld`.
inline bool side_by_side(std::int64_t rows, std::int64_t ld, std::int64_t stride,
                         std::int64_t batch) {
  return stride >= rows && (batch - 1) * stride + rows <= ld;
}

}  // namespace mi300x
