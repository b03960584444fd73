// src/compute/kernels/gemm.cu and gemm_plain.cu in every build, through the matrix library made of
// them (blas/own_gemm.cpp): every layout and type over awkward shapes; all elements, or thousands
// of them, are recomputed in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/benchmarks/gemm/gemm_verify.h"
#include "support/kernel_test.h"

namespace assay {
namespace {

using testing::HasSubstr;

class OwnGemm : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (IsSkipped()) return;
    auto library =
        open_blas(*device_, "own", make_gemm(16, 16, 16, DataType::bf16, DataType::bf16));
    ASSERT_TRUE(library) << library.error().message;
    library_ = std::move(*library);
  }
  void TearDown() override { library_.reset(); }

  /// Computes `problem` with the library's choice `algorithm` and verifies it.
  Verification multiply(const GemmCell& cell, const GemmProblem& problem, std::size_t algorithm) {
    auto made = GemmMatrices::create(*device_, *stream_, cell, {problem}, 11);
    EXPECT_TRUE(made) << made.error().message;
    if (cell.pad > 0) {
      EXPECT_TRUE(made->fill_rows(*stream_, problem));
    }
    const OperandSet& set = made->sets().front();
    EXPECT_TRUE(made->poison(*stream_, problem, set));
    const auto algorithms = library_->algorithms(problem, 0, 64);
    EXPECT_TRUE(algorithms) << algorithms.error().message;
    auto plan = library_->plan(problem, algorithms->at(algorithm));
    EXPECT_TRUE(plan) << plan.error().message;
    const Status queued = (*plan)->enqueue(*stream_, set.pointers(), {});
    EXPECT_TRUE(queued) << queued.error().message;
    auto verification = verify_gemm(*stream_, *made, problem, set, largest_input(cell), 5);
    EXPECT_TRUE(verification) << verification.error().message;
    return std::move(verification).value();
  }

  std::unique_ptr<Blas> library_;
};

GemmCell gemm_cell(std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype) {
  GemmCell cell;
  cell.m = m;
  cell.n = n;
  cell.k = k;
  cell.dtype = dtype;
  return cell;
}

TEST_P(OwnGemm, AwkwardShapesInEveryLayout) {
  const struct {
    DataType type;
    std::int64_t m, n, k, batch, pad;
  } shapes[] = {{DataType::bf16, 1, 1, 1, 1, 0},     {DataType::bf16, 17, 33, 65, 1, 0},
                {DataType::bf16, 130, 70, 40, 1, 3}, {DataType::bf16, 64, 72, 136, 2, 8},
                {DataType::f16, 40, 24, 72, 1, 0},   {DataType::f32, 1, 1, 1, 1, 0},
                {DataType::f32, 67, 70, 35, 1, 3},   {DataType::f32, 64, 130, 16, 2, 0}};
  for (const auto& shape : shapes) {
    for (const char* layout : {"NN", "TN", "NT", "TT"}) {
      GemmCell cell = gemm_cell(shape.m, shape.n, shape.k, shape.type);
      cell.batch = shape.batch;
      cell.pad = shape.pad;
      const GemmProblem problem = problem_of(cell, layout);
      const Verification verified = multiply(cell, problem, 0);
      EXPECT_TRUE(verified.passed) << describe(problem) << ": " << verified.detail;
    }
  }
}

TEST_P(OwnGemm, EveryTypeAndTile) {
  for (const DataType type : {DataType::bf16, DataType::f16}) {
    for (const DataType result : {type, DataType::f32}) {
      const GemmCell cell = gemm_cell(150, 140, 200, type);
      GemmProblem problem = problem_of(cell, "TN");
      problem.c = problem.d = result;
      const auto algorithms = library_->algorithms(problem, 0, 64);
      ASSERT_TRUE(algorithms);
      for (std::size_t i = 0; i < algorithms->size(); ++i) {
        const Verification verified = multiply(cell, problem, i);
        EXPECT_TRUE(verified.passed)
            << describe(problem) << " " << (*algorithms)[i].name << ": " << verified.detail;
      }
    }
  }
}

TEST_P(OwnGemm, EveryKindOfFp8) {
  for (const DataType type :
       {DataType::e4m3, DataType::e5m2, DataType::e4m3_fnuz, DataType::e5m2_fnuz}) {
    for (const DataType result : {DataType::bf16, DataType::f32}) {
      GemmProblem problem = problem_of(gemm_cell(67, 70, 35, type), "TN");
      problem.c = problem.d = result;
      const Verification verified = multiply(gemm_cell(67, 70, 35, type), problem, 0);
      EXPECT_TRUE(verified.passed) << describe(problem) << ": " << verified.detail;
    }
  }
}

TEST_P(OwnGemm, WhatItCannotDoIsSaid) {
  GemmProblem problem = make_gemm(16, 16, 16, DataType::bf16, DataType::bf16);
  problem.epilogue = Epilogue::gelu;
  const auto refused = open_blas(*device_, "own", problem);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("no epilogues"));
}

ASSAY_KERNEL_BUILDS(OwnGemm);

}  // namespace
}  // namespace assay
