// Compares the blocked product with its definition, element by element.
#include "libraries/gemm.h"

#include <gtest/gtest.h>

#include <chrono>
#include <tuple>
#include <vector>

namespace mi300x {
namespace {

/// Small integers, so that every sum is exact in every type.
struct Filled {
  Filled(Number type, std::int64_t rows, std::int64_t columns, std::int64_t pad, int batch,
         int salt)
      : bytes(static_cast<std::size_t>((rows + pad) * columns * batch) * bytes_of(type)) {
    matrix = {type, bytes.data(), rows, columns, rows + pad, (rows + pad) * columns};
    for (std::int64_t i = 0; i < (rows + pad) * columns * batch; ++i) {
      store(matrix.data, type, i, static_cast<double>((i * 7 + salt) % 5 - 2));
    }
  }
  double at(std::int64_t z, std::int64_t i, std::int64_t j) const {
    return load(matrix.data, matrix.type, z * matrix.stride + j * matrix.ld + i);
  }
  std::vector<char> bytes;
  Matrix matrix;
};

struct Example {
  Number in, out;
  bool ta = false, tb = false;
  std::int64_t m = 37, n = 29, k = 51;
  int batch = 2;
};

/// `after` maps an element's sum to the expected value of D.
template <typename After>
void expect_product(const Example& e, Gemm gemm, const Filled& a, const Filled& b, const Filled& d,
                    const After& after) {
  gemm.transpose_a = e.ta;
  gemm.transpose_b = e.tb;
  gemm.a = a.matrix;
  gemm.b = b.matrix;
  gemm.d = d.matrix;
  if (gemm.c.data == nullptr) gemm.c = d.matrix;
  gemm.batch = e.batch;
  gemm.run();
  for (int z = 0; z < e.batch; ++z) {
    for (std::int64_t i = 0; i < e.m; ++i) {
      for (std::int64_t j = 0; j < e.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < e.k; ++l) {
          sum += (e.ta ? a.at(z, l, i) : a.at(z, i, l)) * (e.tb ? b.at(z, j, l) : b.at(z, l, j));
        }
        ASSERT_EQ(d.at(z, i, j), after(sum, z, i, j)) << z << ' ' << i << ' ' << j;
      }
    }
  }
}

Filled left(const Example& e) {
  return {e.in, e.ta ? e.k : e.m, e.ta ? e.m : e.k, 3, e.batch, 1};
}
Filled right(const Example& e) {
  return {e.in, e.tb ? e.n : e.k, e.tb ? e.k : e.n, 2, e.batch, 2};
}

TEST(Gemm, EveryTypeAndTranspose) {
  for (const auto& [in, out] : {std::pair{Number::f64, Number::f64},
                                {Number::f32, Number::f32},
                                {Number::f16, Number::f32},
                                {Number::bf16, Number::f32},
                                {Number::e4m3_fnuz, Number::f32},
                                {Number::e5m2_fnuz, Number::f32},
                                {Number::i8, Number::i32}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const Example e{in, out, ta, tb};
        const Filled d(out, e.m, e.n, 5, e.batch, 3);
        expect_product(e, {}, left(e), right(e), d,
                       [](double sum, int, std::int64_t, std::int64_t) { return sum; });
      }
    }
  }
}

TEST(Gemm, BetaFactorsBiasReluAndAmax) {
  const Example e{Number::e4m3_fnuz, Number::f32};
  const Filled d(e.out, e.m, e.n, 0, e.batch, 3), c(e.out, e.m, e.n, 1, e.batch, 4);
  const Filled bias(Number::f32, e.m, 1, 0, 1, 5);
  const float scale_a = 2, scale_b = 0.5F, scale_d = 4;
  float amax = 0;
  Gemm gemm;
  gemm.alpha = 2;
  gemm.beta = 3;
  gemm.c = c.matrix;
  gemm.epilogue = epilogue_relu | epilogue_bias;
  gemm.bias = bias.matrix.data;
  gemm.bias_type = Number::f32;
  gemm.scale_a = &scale_a;
  gemm.scale_b = &scale_b;
  gemm.scale_d = &scale_d;
  gemm.amax_d = &amax;
  double largest = 0;
  expect_product(e, gemm, left(e), right(e), d,
                 [&](double sum, int z, std::int64_t i, std::int64_t j) {
                   const double x = std::max(2 * sum + 3 * c.at(z, i, j) + bias.at(0, i, 0), 0.0);
                   largest = std::max(largest, x);
                   return 4 * x;
                 });
  EXPECT_EQ(amax, largest);
}

TEST(Gemm, GradientsOfBiases) {
  Example e{Number::f32, Number::f32};
  e.batch = 1;
  for (const auto& [epilogue, outer] :
       {std::pair{epilogue_gradient_a, e.m}, {epilogue_gradient_b, e.n}}) {
    for (const bool transpose : {false, true}) {
      e.ta = e.tb = transpose;
      const Filled a = left(e), b = right(e), d(e.out, e.m, e.n, 0, 1, 3);
      const Filled bias(Number::f32, outer, 1, 0, 1, 0);
      Gemm gemm;
      gemm.epilogue = epilogue;
      gemm.bias = bias.matrix.data;
      gemm.bias_type = Number::f32;
      expect_product(e, gemm, a, b, d,
                     [](double sum, int, std::int64_t, std::int64_t) { return sum; });
      for (std::int64_t i = 0; i < outer; ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < e.k; ++l) {
          sum += epilogue == epilogue_gradient_a ? (transpose ? a.at(0, l, i) : a.at(0, i, l))
                                                 : (transpose ? b.at(0, i, l) : b.at(0, l, i));
        }
        ASSERT_EQ(bias.at(0, i, 0), sum);
      }
    }
  }
}

/// This takes less than a second on an idle machine; the bound only detects a loop that is not
/// blocked.
TEST(Gemm, IsFastEnough) {
  Example e{Number::bf16, Number::bf16, true, false, 1024, 1024, 1024, 1};
  const Filled a = left(e), b = right(e), d(e.out, e.m, e.n, 0, 1, 3);
  Gemm gemm;
  gemm.transpose_a = true;
  gemm.a = a.matrix;
  gemm.b = b.matrix;
  gemm.c = gemm.d = d.matrix;
  const auto begin = std::chrono::steady_clock::now();
  gemm.run();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  RecordProperty("gflops", static_cast<int>(gemm.operations() / seconds.count() / 1e9));
  EXPECT_LT(seconds.count(), 10);
}

}  // namespace
}  // namespace mi300x
