#include "advise/tune/gemm/tunable_op.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <random>

#include "advise/tune/gemm/tunable_fit.h"
#include "unit/gemm_file_samples.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

GemmProblem problem_of_key(const TunableKey& key) {
  const auto call = call_of(key);
  EXPECT_TRUE(call.ok()) << call.error().message;
  const auto problem = problem_of(call.ok() ? *call : BlasCall{});
  EXPECT_TRUE(problem.ok()) << problem.error().message;
  return problem.ok() ? *problem : GemmProblem{};
}

TEST(TunableOp, FilesOfEveryReleaseComeBackAsTheyWere) {
  for (const std::string_view text :
       {gemm_files::results_of_2_2, gemm_files::results_of_2_4, gemm_files::results_of_2_9}) {
    const TunableResults results = parse_tunable_results(text);
    EXPECT_EQ(text_of(results), text);
    EXPECT_THAT(results.ignored, IsEmpty());
    EXPECT_FALSE(results.carriage_returns);
  }
  const TunableResults old = parse_tunable_results(gemm_files::results_of_2_2);
  EXPECT_EQ(old.validators.size(), 4u);
  EXPECT_EQ(old.validators[1].second, "6.0.0.0-12969-1544e39");
  EXPECT_EQ(old.rows.at(1).solution, "1216");
  EXPECT_EQ(old.rows.at(1).milliseconds(), 0.033);
  const UntunedFile untuned = parse_untuned(gemm_files::untuned);
  EXPECT_EQ(text_of(untuned), gemm_files::untuned);
  EXPECT_EQ(untuned.rows.size(), 5u);
}

/// torch.nn.functional.linear(x[1, 4096], w[8192, 4096]) in bf16.
TEST(TunableOp, AKeyIsTheProductThatPyTorchCalls) {
  const GemmProblem linear =
      problem_of_key({"GemmTunableOp_BFloat16_TN", "tn_8192_1_4096_ld_4096_4096_8192"});
  EXPECT_EQ(linear, make_gemm(1, 8192, 4096, DataType::bf16, DataType::bf16, false, true));
  GemmProblem biased =
      problem_of_key({"GemmAndBiasTunableOp_Half_TN", "tn_768_1024_512_ld_512_512_800"});
  EXPECT_EQ(biased.epilogue, Epilogue::bias);
  EXPECT_EQ(biased.bias, DataType::f16);
  EXPECT_EQ(biased.m, 1024);
  EXPECT_EQ(biased.n, 768);
  EXPECT_EQ(biased.ldd, 800);
  EXPECT_EQ(biased.stride_d, 1024 * 800);
  EXPECT_EQ(problem_of_key({"GemmTunableOp_double_NN", "nn_5_6_7"}),
            make_gemm(6, 5, 7, DataType::f64, DataType::f64));
  EXPECT_EQ(
      problem_of_key({"GemmStridedBatchedTunableOp_float_NN", "nn_64_128_32_B_96_ld_64_32_64"}),
      make_gemm(128, 64, 32, DataType::f32, DataType::f32, false, false, 96));
  const GemmProblem tf32 = problem_of_key({"GemmTunableOp_tf32_NT", "nt_64_32_16_ld_64_32_64"});
  EXPECT_EQ(tf32.compute, DataType::tf32);
  EXPECT_TRUE(tf32.transpose_a);
  const GemmProblem scaled =
      problem_of_key({"ScaledGemmTunableOp_Float8_e4m3fn_Float8_e5m2_Half_TN",
                      "tn_64_128_32_ld_32_32_64_rw_0_bias_BFloat16"});
  EXPECT_EQ(scaled.b, DataType::e4m3);  // column-major: their A is our B
  EXPECT_EQ(scaled.a, DataType::e5m2);
  EXPECT_EQ(scaled.d, DataType::f16);
  EXPECT_EQ(scaled.bias, DataType::bf16);
  EXPECT_TRUE(scaled.scales_a && scaled.scales_b);
}

TEST(TunableOp, KeysComeBackInTheDialectOfTheirRelease) {
  for (const auto& [text, dialect] : {std::pair(gemm_files::results_of_2_4, TunableDialect::plain),
                                      {gemm_files::results_of_2_9, TunableDialect::leading}}) {
    for (const TunableRow& row : parse_tunable_results(text).rows) {
      const auto call = call_of(row.key);
      ASSERT_TRUE(call.ok()) << call.error().message;
      const auto problem = problem_of(*call);
      ASSERT_TRUE(problem.ok()) << problem.error().message;
      EXPECT_EQ(key_of(call_of(*problem), dialect).value(), row.key) << row.key.parameters;
      const auto solution = parse_solution(row.solution);
      if (row.solution == "Default") {
        EXPECT_FALSE(solution);
        continue;
      }
      ASSERT_TRUE(solution) << row.solution;
      EXPECT_EQ(solution_name(solution->library, solution->index, *call, dialect), row.solution);
    }
  }
  EXPECT_EQ(parse_solution("Gemm_Rocblas_-72")->index, -72);
  for (const char* wrong : {"1219", "Default", "Gemm_Hipblaslt_", "Gemm_Hipblaslt_XX_5",
                            "Gemm_Rocblas_5x", "Gemm_Hipblaslt_99999999999", ""}) {
    EXPECT_FALSE(parse_solution(wrong)) << wrong;
  }
}

TEST(TunableOp, DialectsBeginWithTheirReleases) {
  EXPECT_EQ(tunable_dialect("2.6.0+rocm6.2").value(), TunableDialect::plain);
  EXPECT_EQ(tunable_dialect("2.7.0").value(), TunableDialect::leading);
  EXPECT_EQ(tunable_dialect("2.10.0a0+git12").value(), TunableDialect::leading);
  for (const char* wrong : {"", "two", "1.13.1", "2", "2.x"}) {
    EXPECT_FALSE(tunable_dialect(wrong).ok()) << wrong;
  }
}

TEST(TunableOp, WhatCannotBeMeasuredSaysWhy) {
  const auto reason = [](const char* op, const char* parameters) {
    const auto call = call_of(TunableKey{op, parameters});
    if (!call.ok()) return call.error().message;
    const auto problem = problem_of(*call);
    return problem.ok() ? std::string("measured") : problem.error().message;
  };
  EXPECT_THAT(reason("GemmTunableOp_c10::complex<float>_NN", "nn_64_64_64"), HasSubstr("complex"));
  EXPECT_THAT(reason("GemmTunableOp_BFloat16_TN", "tn_4096_*_4096"), HasSubstr("\"*\""));
  EXPECT_THAT(reason("ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN",
                     "tn_64_128_32_ld_32_32_64_rw_1_bias_None"),
              HasSubstr("factor for each row"));
  EXPECT_THAT(reason("GemmTunableOp_BFloat16_TN", "nt_4_4_4"), HasSubstr("transposes"));
  EXPECT_THAT(reason("GemmTunableOp_BFloat16_TN", "tn_4_4"), HasSubstr("not numbers"));
  EXPECT_THAT(reason("GemmTunableOp_BFloat16_TN", "tn_0_4_4"), HasSubstr("below 1"));
  EXPECT_THAT(reason("GemmTunableOp_BFloat16_TN", "tn_4_4_9999999999"), HasSubstr("2^31"));
  EXPECT_THAT(reason("GemmTunableOp_BFloat16_TN", "tn_2000000000_2000000000_4"), HasSubstr("2^48"));
  EXPECT_THAT(reason("GemmTunableOp_BFloat16_TN", "tn_8_4_16_ld_4_16_8"), HasSubstr("leading"));
  EXPECT_THAT(reason("GemmTunableOp_BFloat16_TN", "tn_4_4_4_zz"), HasSubstr("more in it"));
  EXPECT_THAT(reason("ConvTunableOp_float", "tn_4_4_4"), HasSubstr("no matrix product"));
  EXPECT_THAT(reason("GemmTunableOp_int_TN", "tn_4_4_4"), HasSubstr("type"));

  const auto refusal = [](GemmProblem problem) {
    const auto key = key_of(call_of(problem), TunableDialect::leading);
    return key.ok() ? key->op : key.error().message;
  };
  GemmProblem p = make_gemm(8, 8, 8, DataType::bf16, DataType::bf16);
  EXPECT_EQ(refusal(p), "GemmTunableOp_BFloat16_NN");
  p.beta = 1;
  EXPECT_THAT(refusal(p), HasSubstr("adds to its result"));
  p.beta = 0;
  p.epilogue = Epilogue::gelu_aux;
  EXPECT_THAT(refusal(p), HasSubstr("gelu_aux"));
  EXPECT_THAT(refusal(make_gemm(8, 8, 8, DataType::bf16, DataType::f32)), HasSubstr("into f32"));
  EXPECT_THAT(refusal(make_gemm(8, 8, 8, DataType::i8, DataType::i32)), HasSubstr("i8"));
}

TEST(TunableOp, LinesThatPyTorchWouldNotTakeAreNamed) {
  const TunableResults results = parse_tunable_results(
      "Validator,PT_VERSION,2.9.1\r\nValidator,X\n\nGemmTunableOp_float_NN,nn_1_1_1\n"
      "GemmTunableOp_float_NN,nn_1_1_1,Default");
  EXPECT_TRUE(results.carriage_returns);
  ASSERT_EQ(results.ignored.size(), 3u);
  EXPECT_EQ(results.ignored[0].number, 2u);
  EXPECT_THAT(results.ignored[1].why, HasSubstr("empty"));
  EXPECT_EQ(results.rows.size(), 1u);
  EXPECT_EQ(results.validators.at(0).second, "2.9.1");
}

TEST(TunableFit, SaysWhichValidatorsDoNotFit) {
  TunableOpFacts machine = {"2.9.1", "702", "gfx942:sramecc+:xnack-", "5.2.0.dabb6df2b9",
                            "100202-dabb6df2b9"};
  const TunableResults file = parse_tunable_results(gemm_files::results_of_2_9);
  EXPECT_THAT(misfits(file, validators_of(machine).value()), IsEmpty());
  machine.hipblaslt = "100203-1";
  machine.arch = "gfx950:sramecc+:xnack-";
  EXPECT_THAT(misfits(file, validators_of(machine).value()),
              ElementsAre("GCN_ARCH_NAME is gfx942:sramecc+:xnack-, here it is "
                          "gfx950:sramecc+:xnack-",
                          "HIPBLASLT_VERSION is 100202-dabb6df2b9, here it is 100203-1"));
  const TunableResults older = parse_tunable_results(gemm_files::results_of_2_4);
  EXPECT_THAT(misfits(older, validators_of(machine).value()),
              testing::AllOf(testing::Contains(HasSubstr("HIP_VERSION is missing")),
                             testing::Contains(HasSubstr("ROCM_VERSION is unknown"))));
  const TunableResults windows = parse_tunable_results("Validator,PT_VERSION,2.9.1\r\n");
  EXPECT_THAT(misfits(windows, {{"PT_VERSION", "2.9.1"}}), ElementsAre(HasSubstr("CR LF")));
  machine.pytorch = "2.8.0";
  EXPECT_THAT(validators_of(machine).error().message, HasSubstr("results file"));
  machine.pytorch = "2.10.0";
  EXPECT_TRUE(validators_of(machine).ok());
  machine.rocblas.clear();
  EXPECT_THAT(validators_of(machine).error().message, HasSubstr("ROCBLAS_VERSION is unknown"));
}

TEST(TunableFit, FilesOfSeveralGpusBecomeOne) {
  const auto file = [](std::string_view rows) {
    return parse_tunable_results(fmt::format("Validator,PT_VERSION,2.9.1\n{}", rows));
  };
  const std::vector<NamedResults> files = {
      {"0.csv", file("Op,a,slow,2.5\nOp,b,kept\nOp,c,first,1\n")},
      {"1.csv", file("Op,a,fast,1.5\nOp,b,later,0.1\nOp,d,new,1\nOp,c,slower,3\n")}};
  const auto all = merged(files);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(text_of(*all),
            "Validator,PT_VERSION,2.9.1\nOp,a,fast,1.5\nOp,b,kept\nOp,c,first,1\nOp,d,new,1\n");
  const std::vector<NamedResults> differing = {
      files[0], {"1.csv", parse_tunable_results("Validator,PT_VERSION,2.8.0\n")}};
  EXPECT_THAT(merged(differing).error().message,
              testing::AllOf(HasSubstr("1.csv does not fit 0.csv"), HasSubstr("2.8.0")));
  EXPECT_EQ(name_for_ordinal("tunableop_results.csv", 3), "tunableop_results3.csv");
  EXPECT_EQ(name_for_ordinal("a.b/full%d.x.csv", 12), "a.b/full12.x.csv");
  EXPECT_EQ(name_for_ordinal("plain", 0), "plain0");
}

/// Whatever a file holds, reading returns, and what it returns is written as lines it reads again.
TEST(TunableOp, DamagedFilesAreRead) {
  std::mt19937 random(42);
  for (const std::string_view sample : {gemm_files::results_of_2_9, gemm_files::untuned,
                                        gemm_files::override_named, gemm_files::hipblaslt_log}) {
    for (int round = 0; round < 500; ++round) {
      std::string text(sample);
      for (int i = 0; i < 1 + round % 8; ++i) {
        text[random() % text.size()] = static_cast<char>(random() % 256);
      }
      if (round % 3 == 0) text.resize(random() % text.size());
      TunableResults results = parse_tunable_results(text);
      const TunableResults again = parse_tunable_results(text_of(results));
      EXPECT_EQ(again.rows, results.rows);
      EXPECT_EQ(again.validators, results.validators);
      for (const TunableRow& row : results.rows) {
        const auto call = call_of(row.key);
        if (call.ok()) static_cast<void>(problem_of(*call));
        static_cast<void>(row.milliseconds());
        static_cast<void>(parse_solution(row.solution));
      }
      EXPECT_EQ(parse_untuned(text_of(parse_untuned(text))).rows, parse_untuned(text).rows);
    }
  }
}

TEST(TunableOp, ALargeFileIsReadAndMergedInLinearTime) {
  std::string text = "Validator,PT_VERSION,2.9.1\n";
  for (int i = 0; i < 200'000; ++i) {
    text += fmt::format("GemmTunableOp_BFloat16_TN,tn_{}_1_64_ld_64_64_{},Default,0.1\n", i, i);
  }
  const auto began = std::chrono::steady_clock::now();
  const std::vector<NamedResults> twice = {{"a", parse_tunable_results(text)},
                                           {"b", parse_tunable_results(text)}};
  EXPECT_EQ(merged(twice).value().rows.size(), 200'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
  parse_tunable_results(std::string(1'000'000, '\n'));
  parse_tunable_results(std::string(1'000'000, ','));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
}

}  // namespace
}  // namespace assay
