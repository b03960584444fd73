// A column-major matrix product with the epilogues of hipBLASLt, in double, on host memory: what
// the mock libraries compute with.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/element_types.h"

namespace mock {

enum class Type { f64, f32, f16, bf16, e4m3, e5m2, e4m3_fnuz, e5m2_fnuz, i8, i32, unknown };

inline double load(const void* x, Type type, std::int64_t i) {
  switch (type) {
    case Type::f64:
      return static_cast<const double*>(x)[i];
    case Type::f32:
      return static_cast<const float*>(x)[i];
    case Type::f16:
      return static_cast<const F16*>(x)[i].decode();
    case Type::bf16:
      return static_cast<const Bf16*>(x)[i].decode();
    case Type::e4m3:
      return static_cast<const E4m3*>(x)[i].decode();
    case Type::e5m2:
      return static_cast<const E5m2*>(x)[i].decode();
    case Type::e4m3_fnuz:
      return static_cast<const E4m3Fnuz*>(x)[i].decode();
    case Type::e5m2_fnuz:
      return static_cast<const E5m2Fnuz*>(x)[i].decode();
    case Type::i8:
      return static_cast<const signed char*>(x)[i];
    case Type::i32:
      return static_cast<const std::int32_t*>(x)[i];
    case Type::unknown:
      break;
  }
  return NAN;
}

inline void store(void* x, Type type, std::int64_t i, double value) {
  switch (type) {
    case Type::f64:
      static_cast<double*>(x)[i] = value;
      break;
    case Type::f32:
      static_cast<float*>(x)[i] = static_cast<float>(value);
      break;
    case Type::f16:
      static_cast<F16*>(x)[i] = F16::encode(static_cast<float>(value));
      break;
    case Type::bf16:
      static_cast<Bf16*>(x)[i] = Bf16::encode(static_cast<float>(value));
      break;
    case Type::i32:
      static_cast<std::int32_t*>(x)[i] = static_cast<std::int32_t>(value);
      break;
    default:
      break;
  }
}

/// D = alpha op(A) op(B) + beta C; op(A) is rows x inner, op(B) inner x columns.
struct Gemm {
  bool transpose_a = false, transpose_b = false;
  std::int64_t rows = 0, columns = 0, inner = 0, batch = 1;
  Type a_type{}, b_type{}, c_type{}, d_type{};
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;
  double alpha = 1, beta = 0;

  // hipBLASLt only.
  unsigned epilogue = 1;  // hipblasLtEpilogue_t
  void* bias = nullptr;
  Type bias_type{};
  void* aux = nullptr;
  Type aux_type{};
  std::int64_t ld_aux = 0;

  void run() const {
    for (std::int64_t z = 0; z < batch; ++z) {
      for (std::int64_t j = 0; j < columns; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) {
          double sum = 0;
          for (std::int64_t l = 0; l < inner; ++l) sum += at_a(z, i, l) * at_b(z, l, j);
          double x = alpha * sum;
          if (beta != 0) x += beta * load(c, c_type, z * stride_c + j * ldc + i);
          store(d, d_type, z * stride_d + j * ldd + i, finish(x, i, j));
        }
      }
    }
    sum_gradients();
  }

 private:
  double at_a(std::int64_t z, std::int64_t i, std::int64_t l) const {
    return load(a, a_type, z * stride_a + (transpose_a ? i * lda + l : l * lda + i));
  }
  double at_b(std::int64_t z, std::int64_t l, std::int64_t j) const {
    return load(b, b_type, z * stride_b + (transpose_b ? l * ldb + j : j * ldb + l));
  }

  double finish(double x, std::int64_t i, std::int64_t j) const {
    constexpr double factor = 0.7978845608028654;  // sqrt(2 / pi)
    if (epilogue & 4) x += load(bias, bias_type, i);
    if (epilogue & 2) return x > 0 ? x : 0;
    if (epilogue & 32) {
      if (epilogue & 128) store(aux, aux_type, j * ld_aux + i, x);
      return x / 2 * (1 + std::tanh(factor * (x + 0.044715 * x * x * x)));
    }
    if (epilogue & 64) {
      const double y = load(aux, aux_type, j * ld_aux + i);
      const double t = std::tanh(factor * (y + 0.044715 * y * y * y));
      return x * ((1 + t) / 2 + y / 2 * (1 - t * t) * factor * (1 + 0.134145 * y * y));
    }
    return x;
  }

  void sum_gradients() const {
    if (epilogue & 16) {  // DGELU_BGRAD: rows of D
      for (std::int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < columns; ++j) sum += load(d, d_type, j * ldd + i);
        store(bias, bias_type, i, sum);
      }
    }
    if (epilogue & 256) {  // BGRADA
      for (std::int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < inner; ++l) sum += at_a(0, i, l);
        store(bias, bias_type, i, sum);
      }
    }
    if (epilogue & 512) {  // BGRADB
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < inner; ++l) sum += at_b(0, l, j);
        store(bias, bias_type, j, sum);
      }
    }
  }
};

}  // namespace mock
