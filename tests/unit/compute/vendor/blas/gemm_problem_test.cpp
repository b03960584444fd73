#include "compute/vendor/blas/gemm_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

GemmProblem problem() {
  return make_gemm(3, 5, 7, DataType::bf16, DataType::bf16);
}

void expect_refused(const GemmProblem& refused, const char* reason) {
  const Status status = validate(refused);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::usage);
  EXPECT_THAT(status.error().message, HasSubstr(reason));
}

TEST(GemmProblem, PackedLeadingDimensionsFollowTheTransposes) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const GemmProblem p =
          make_gemm(3, 5, 7, DataType::f32, DataType::f32, transpose_a, transpose_b, 2, 4);
      EXPECT_EQ(p.lda, (transpose_a ? 3 : 7) + 4);
      EXPECT_EQ(p.ldb, (transpose_b ? 7 : 5) + 4);
      EXPECT_EQ(p.ldd, 9);
      EXPECT_EQ(p.elements_a(), 2 * (transpose_a ? 7 : 3) * p.lda);
      EXPECT_EQ(p.elements_b(), 2 * (transpose_b ? 5 : 7) * p.ldb);
      EXPECT_EQ(p.elements_d(), 2 * 3 * 9);
      EXPECT_TRUE(validate(p));
    }
  }
}

TEST(GemmProblem, CountsOperationsAndBytes) {
  GemmProblem p = make_gemm(3, 5, 7, DataType::i8, DataType::i32, false, false, 2);
  EXPECT_EQ(p.compute, DataType::i32);
  EXPECT_EQ(p.flops(), 2.0 * 3 * 5 * 7 * 2);
  EXPECT_EQ(p.bytes(), 2.0 * (3 * 7 + 7 * 5 + 4 * 3 * 5));
  p.beta = 1;
  EXPECT_EQ(p.bytes(), 2.0 * (3 * 7 + 7 * 5 + 2 * 4 * 3 * 5));
}

TEST(GemmProblem, LayoutLettersAreThoseOfTheColumnMajorCall) {
  EXPECT_EQ(layout_of(make_gemm(1, 1, 1, DataType::f32, DataType::f32, false, false)), "NN");
  EXPECT_EQ(layout_of(make_gemm(1, 1, 1, DataType::f32, DataType::f32, false, true)), "TN");
  EXPECT_EQ(layout_of(make_gemm(1, 1, 1, DataType::f32, DataType::f32, true, false)), "NT");
  EXPECT_EQ(layout_of(make_gemm(1, 1, 1, DataType::f32, DataType::f32, true, true)), "TT");
}

TEST(GemmProblem, RefusesWhatMakesNoSense) {
  GemmProblem p = problem();
  p.k = 0;
  expect_refused(p, "at least 1");
  p = problem();
  p.lda = 6;
  expect_refused(p, "leading dimension 6 of A is shorter than its rows of 7");
  p = problem();
  p.ldd = 4;
  expect_refused(p, "of D");
  p = problem();
  p.batch = 2;
  p.stride_b = 34;  // 7 x 5 elements
  expect_refused(p, "batch stride 34 of B");
  p = problem();
  p.batch = 2;
  p.stride_d = 0;
  expect_refused(p, "the same matrix");
  p = problem();
  p.epilogue = Epilogue::gelu_aux;
  p.ld_aux = 4;
  expect_refused(p, "of aux");
  p = problem();
  p.batch = 2;
  p.epilogue = Epilogue::bias;
  expect_refused(p, "epilogues take one matrix");
  p = problem();
  p.compute = DataType::f64;
  expect_refused(p, "bf16 * bf16 cannot be accumulated in f64");
  p = problem();
  p.d = DataType::i32;
  expect_refused(p, "f32 accumulation cannot give i32 results");
}

TEST(GemmProblem, ABroadcastInputIsAllowed) {
  GemmProblem p = make_gemm(3, 5, 7, DataType::f32, DataType::f32, false, false, 2);
  p.stride_b = 0;
  EXPECT_TRUE(validate(p));
}

TEST(GemmProblem, EpilogueTraits) {
  EXPECT_TRUE(reads_bias(Epilogue::gelu_aux_bias));
  EXPECT_TRUE(writes_aux(Epilogue::gelu_aux_bias));
  EXPECT_FALSE(writes_bias(Epilogue::gelu_aux_bias));
  EXPECT_TRUE(reads_aux(Epilogue::dgelu_bgrad));
  EXPECT_TRUE(writes_bias(Epilogue::dgelu_bgrad));
  EXPECT_FALSE(reads_bias(Epilogue::bgrad_a));
  EXPECT_EQ(name_of(Epilogue::bgrad_b), "bgrad_b");
  GemmProblem p = problem();
  p.epilogue = Epilogue::bgrad_a;
  EXPECT_EQ(p.bias_elements(), 3);
  p.epilogue = Epilogue::bgrad_b;
  EXPECT_EQ(p.bias_elements(), 5);
  EXPECT_EQ(describe(p), "m=3 n=5 k=7 bf16*bf16->bf16 NN bgrad_b");
}

}  // namespace
}  // namespace assay
