#include "measure/benchmarks/gemm/gemm_tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay {
namespace {

TEST(GemmCheck, RoundsToNearestEven) {
  EXPECT_EQ(round_to(DataType::bf16, 257), 256);  // 8 significant bits: a tie rounds to even
  EXPECT_EQ(round_to(DataType::bf16, 259), 260);  // a tie rounds to even
  EXPECT_EQ(round_to(DataType::bf16, -257.5), -258);
  EXPECT_EQ(round_to(DataType::f16, 2049), 2048);
  EXPECT_EQ(round_to(DataType::f16, 2051), 2052);
  EXPECT_EQ(round_to(DataType::f32, 16777217), 16777216);
  EXPECT_EQ(round_to(DataType::f64, 0.1), 0.1);
  EXPECT_EQ(round_to(DataType::i32, 123456789), 123456789);
  EXPECT_EQ(round_to(DataType::bf16, 0), 0);
}

TEST(GemmCheck, UnitRoundoffs) {
  EXPECT_EQ(unit_roundoff(DataType::f32), std::ldexp(1, -24));
  EXPECT_EQ(unit_roundoff(DataType::bf16), std::ldexp(1, -8));
  EXPECT_EQ(unit_roundoff(DataType::e4m3), std::ldexp(1, -4));
  EXPECT_EQ(unit_roundoff(DataType::i32), 0);
}

TEST(GemmCheck, ExactWhereEveryPartialSumFits) {
  GemmProblem p = make_gemm(8, 8, 4096, DataType::bf16, DataType::bf16);
  EXPECT_TRUE(is_exact(p, 2));
  EXPECT_FALSE(is_exact(p, HUGE_VAL));
  EXPECT_TRUE(is_exact(p, 63));
  EXPECT_FALSE(is_exact(p, 65));  // 4096 * 65^2 > 2^24
  p = make_gemm(8, 8, 2047, DataType::e4m3, DataType::bf16);
  EXPECT_TRUE(is_exact(p, 2));  // 2047 * 4 + 2 < 2^13
  p.k = 2048;
  EXPECT_FALSE(is_exact(p, 2));
  p = make_gemm(8, 8, 100000, DataType::i8, DataType::i32);
  EXPECT_TRUE(is_exact(p, 127));
  p.epilogue = Epilogue::gelu;
  EXPECT_FALSE(is_exact(p, 1));
}

TEST(GemmCheck, ExactResultsAreRoundedOnceAndTolerateNothing) {
  GemmProblem p = make_gemm(8, 8, 4096, DataType::bf16, DataType::bf16);
  const Expectation d = expected_d(p, {257, 1000}, true);
  EXPECT_EQ(d.value, 256);
  EXPECT_EQ(d.tolerance, 0);
  p.epilogue = Epilogue::relu_bias;
  EXPECT_EQ(expected_d(p, {.sum = -300, .squares = 1000, .bias = 10}, true).value, 0);
  EXPECT_EQ(expected_d(p, {.sum = 300, .squares = 1000, .bias = 10}, true).value, 310);
}

TEST(GemmCheck, ToleranceFollowsItsFormula) {
  const GemmProblem p = make_gemm(8, 8, 1024, DataType::f32, DataType::f32);
  // 8 sqrt(1024) = 256 steps, P = 10 + 2 * 30.
  EXPECT_DOUBLE_EQ(
      expected_d(p, {10, 900}, false).tolerance,
      256 * std::ldexp(70, -23) + 2 * std::ldexp(10, -24) + std::ldexp(10, -24) * 1.01);
  const GemmProblem fp8 = make_gemm(8, 8, 1024, DataType::e4m3, DataType::bf16);
  EXPECT_DOUBLE_EQ(expected_d(fp8, {10, 900}, false).tolerance,
                   32 * std::ldexp(70, -13) + 2 * std::ldexp(10, -24) + std::ldexp(10, -8) * 1.01);
}

/// Float accumulation in the plainest order stays within the tolerance, and a product lost from the
/// sum does not.
TEST(GemmCheck, ToleranceHoldsForFloatSumsAndFindsALostProduct) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const int k : {1, 17, 1000, 16384}) {
    const GemmProblem p = make_gemm(8, 8, k, DataType::f32, DataType::f32);
    int lost_found = 0;
    for (int trial = 0; trial < 50; ++trial) {
      float sum = 0, last = 0;
      GemmSample sample;
      for (int i = 0; i < k; ++i) {
        const float a = normal(random), b = normal(random);
        last = a * b;
        sum += a * b;
        sample.sum += double{a} * double{b};
        sample.squares += double{a} * double{b} * double{a} * double{b};
      }
      const Expectation d = expected_d(p, sample, false);
      EXPECT_LE(std::abs(sum - d.value), d.tolerance) << "k=" << k;
      if (!(std::abs(sum - last - d.value) <= d.tolerance)) ++lost_found;
    }
    EXPECT_GE(lost_found, 40) << "k=" << k;
  }
}

TEST(GemmCheck, GeluAndItsDerivative) {
  EXPECT_NEAR(gelu(1), 0.841192, 1e-6);
  EXPECT_NEAR(gelu(-1), -0.158808, 1e-6);
  EXPECT_NEAR(gelu(8), 8, 1e-9);
  for (const double x : {-3.0, -1.0, -0.1, 0.0, 0.5, 2.0, 5.0}) {
    const double h = 1e-5;
    EXPECT_NEAR(gelu_derivative(x), (gelu(x + h) - gelu(x - h)) / (2 * h), 1e-8) << x;
  }
}

TEST(GemmCheck, Epilogues) {
  GemmProblem p = make_gemm(8, 8, 64, DataType::bf16, DataType::bf16);
  p.alpha = 0.125;
  const GemmSample sample{.sum = 8, .squares = 64, .bias = 0.5, .aux = 0.25};
  p.epilogue = Epilogue::gelu_bias;
  EXPECT_DOUBLE_EQ(expected_d(p, sample, false).value, gelu(1.5));
  p.epilogue = Epilogue::gelu_aux;
  EXPECT_DOUBLE_EQ(expected_d(p, sample, false).value, gelu(1));
  EXPECT_DOUBLE_EQ(expected_aux(p, sample).value, 1);
  p.epilogue = Epilogue::dgelu;
  EXPECT_DOUBLE_EQ(expected_d(p, sample, false).value, gelu_derivative(0.25));
}

}  // namespace
}  // namespace assay
