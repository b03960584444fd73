#include "measure/benchmarks/gemm/gemm_cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

using testing::HasSubstr;

/// One cell with defaults for what `settings` leaves out.
GemmCell product_cell(std::vector<AxisSetting> settings) {
  const auto cells = expand_cells("gemm", gemm_axes(), settings);
  EXPECT_TRUE(cells) << cells.error().message;
  EXPECT_EQ(cells->size(), 1u);
  return parse_gemm_cell(cells->front());
}

DeviceFacts facts_of(std::string backend, std::string arch) {
  DeviceFacts facts;
  facts.backend = std::move(backend);
  facts.arch = std::move(arch);
  facts.memory_bytes = std::uint64_t{64} << 30;
  return facts;
}

std::string refusal(std::vector<AxisSetting> settings, const DeviceFacts& facts) {
  return gemm_unsupported(product_cell(std::move(settings)), facts).value_or("");
}

TEST(GemmCell, ReadsEveryAxis) {
  const GemmCell cell = product_cell({{"shape", "16384x1024x8192"},
                                      {"batch", "3"},
                                      {"dtype", "f16"},
                                      {"layout", "NT"},
                                      {"epilogue", "bgrad"},
                                      {"library", "hipblaslt"},
                                      {"inputs", "integers"},
                                      {"pad", "128"},
                                      {"rotate", "512MiB"},
                                      {"chain", "20"},
                                      {"algorithm", "best"}});
  EXPECT_EQ(cell.m, 16384);
  EXPECT_EQ(cell.n, 1024);
  EXPECT_EQ(cell.k, 8192);
  EXPECT_EQ(cell.batch, 3);
  EXPECT_EQ(cell.dtype, DataType::f16);
  EXPECT_EQ(cell.layouts, std::vector<std::string>{"NT"});
  EXPECT_EQ(cell.epilogue, Epilogue::bgrad_a);
  EXPECT_EQ(cell.library, "hipblaslt");
  EXPECT_EQ(cell.inputs, Inputs::integers);
  EXPECT_EQ(cell.pad, 128);
  EXPECT_EQ(cell.rotate_bytes, std::uint64_t{512} << 20);
  EXPECT_EQ(cell.chain, 20);
  EXPECT_TRUE(cell.best);
  EXPECT_FALSE(cell.fast_accumulate);
}

TEST(GemmCell, ProblemFollowsLayoutAndType) {
  const GemmCell cell = product_cell({{"shape", "64x32x16"}, {"dtype", "e5m2"}, {"layout", "any"}});
  ASSERT_EQ(cell.layouts.size(), 4u);
  for (const std::string& layout : cell.layouts) {
    const GemmProblem p = problem_of(cell, layout);
    EXPECT_EQ(layout_of(p), layout);
    EXPECT_TRUE(validate(p));
    EXPECT_EQ(p.a, DataType::e5m2);
    EXPECT_EQ(p.b, DataType::e4m3);
    EXPECT_EQ(p.d, DataType::bf16);
  }
}

TEST(GemmCell, GeluGetsInputsOfOrderOne) {
  const GemmProblem p =
      problem_of(product_cell({{"shape", "64x64x1024"}, {"epilogue", "gelu"}}), "TN");
  EXPECT_EQ(p.alpha, 1.0 / 32);
  EXPECT_EQ(problem_of(product_cell({{"shape", "64x64x1024"}}), "TN").alpha, 1);
}

TEST(GemmCell, RotationNeedsAtLeastTwoSets) {
  GemmCell cell = product_cell({{"shape", "1024"}});  // 3 x 2 MiB in bf16
  const GemmProblem p = problem_of(cell, "TN");
  EXPECT_EQ(operand_bytes(p), std::uint64_t{6} << 20);
  EXPECT_EQ(operand_sets(cell, p), 1u);
  cell.rotate_bytes = 1;
  EXPECT_EQ(operand_sets(cell, p), 2u);
  cell.rotate_bytes = std::uint64_t{512} << 20;
  EXPECT_EQ(operand_sets(cell, p), 86u);
}

TEST(GemmCell, LargestInput) {
  EXPECT_EQ(largest_input(product_cell({{"inputs", "ones"}})), 1);
  EXPECT_EQ(largest_input(product_cell({{"inputs", "integers"}})), 2);
  EXPECT_TRUE(std::isinf(largest_input(product_cell({{"inputs", "normal"}}))));
  EXPECT_EQ(largest_input(product_cell({{"inputs", "normal"}, {"dtype", "i8"}})), 127);
}

TEST(GemmCell, ReasonsNameWhatIsWrong) {
  const DeviceFacts hopper = facts_of("cuda", "sm_90"), mi300 = facts_of("hip", "gfx942"),
                    mi350 = facts_of("hip", "gfx950:sramecc+:xnack-"),
                    cpu = facts_of("cpu", "x86-64-v4");
  EXPECT_EQ(refusal({{"dtype", "e4m3"}}, hopper), "");
  EXPECT_EQ(refusal({{"dtype", "e4m3"}, {"layout", "any"}}, hopper), "");
  EXPECT_THAT(refusal({{"dtype", "e4m3"}, {"layout", "NN"}}, hopper), HasSubstr("layout TN"));
  EXPECT_EQ(refusal({{"dtype", "e4m3"}, {"layout", "NN"}}, facts_of("cuda", "sm_100")), "");
  EXPECT_THAT(refusal({{"dtype", "e4m3"}, {"shape", "100"}}, hopper), HasSubstr("multiples of 16"));
  EXPECT_THAT(refusal({{"dtype", "e4m3_fnuz"}}, hopper), HasSubstr("gfx942's encoding"));
  EXPECT_THAT(refusal({{"dtype", "e4m3"}}, facts_of("cuda", "sm_80")), HasSubstr("sm_89"));
  EXPECT_THAT(refusal({{"dtype", "bf16"}}, facts_of("cuda", "sm_70")), HasSubstr("sm_80"));
  EXPECT_THAT(refusal({{"dtype", "e4m3"}}, mi300), HasSubstr("e4m3_fnuz"));
  EXPECT_EQ(refusal({{"dtype", "e4m3_fnuz"}}, mi300), "");
  EXPECT_EQ(refusal({{"dtype", "e4m3"}}, mi350), "");
  EXPECT_THAT(refusal({{"dtype", "e4m3_fnuz"}}, mi350), HasSubstr("OCP"));
  EXPECT_THAT(refusal({{"dtype", "tf32"}}, mi350), HasSubstr("gfx942"));
  EXPECT_EQ(refusal({{"dtype", "tf32"}}, mi300), "");
  EXPECT_THAT(refusal({{"dtype", "f64"}}, cpu), HasSubstr("not f64"));
  EXPECT_THAT(refusal({{"epilogue", "dgelu"}}, cpu), HasSubstr("no fused dgelu"));
  EXPECT_THAT(refusal({{"epilogue", "bias"}, {"library", "cublas"}}, hopper),
              HasSubstr("no fused epilogues"));
  EXPECT_THAT(refusal({{"library", "rocblas"}}, hopper), HasSubstr("does not work on cuda"));
  EXPECT_THAT(refusal({{"shape", "1000000"}}, hopper), HasSubstr("needs"));
  EXPECT_THAT(refusal({{"accumulate", "fast"}}, hopper), HasSubstr("fp8 only"));
  EXPECT_THAT(refusal({{"batch", "2"}, {"epilogue", "bias"}}, hopper), HasSubstr("one matrix"));
  EXPECT_THAT(refusal({{"dtype", "i8"}, {"epilogue", "relu"}}, cpu), HasSubstr("no epilogue"));
  EXPECT_THAT(refusal({}, facts_of("fake", "none")), HasSubstr("no matrix library"));
}

}  // namespace
}  // namespace assay
