#include "advise/tune/gemm/blas_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <random>

#include "results/import/text_lines.h"
#include "unit/gemm_file_samples.h"

namespace assay {
namespace {

using testing::HasSubstr;

BlasLog read(std::string_view text) {
  BlasLogReader reader;
  LineReader lines(text);
  for (TextLine line; lines.next(line);) reader.take(line.number, line.text);
  return std::move(reader).finish();
}

TEST(BlasLog, CountsTheCallsOfHipBlasLt) {
  const BlasLog log = read(gemm_files::hipblaslt_log);
  ASSERT_EQ(log.problems.size(), 2u);
  EXPECT_EQ(log.problems[0].problem,
            make_gemm(512, 1024, 256, DataType::bf16, DataType::bf16, false, true));
  EXPECT_EQ(log.problems[0].count, 2u);
  GemmProblem scaled = make_gemm(32, 64, 128, DataType::e4m3_fnuz, DataType::bf16, false, true);
  scaled.epilogue = Epilogue::gelu_aux_bias;
  scaled.scales_a = scaled.scales_b = true;
  EXPECT_EQ(log.problems[1].problem, scaled);
  EXPECT_EQ(log.problems[1].count, 1u);
  ASSERT_EQ(log.ignored.size(), 1u);
  EXPECT_EQ(log.ignored[0].number, 5u);
  EXPECT_THAT(log.ignored[0].why, HasSubstr("swish"));
}

TEST(BlasLog, TakesRocBlasNumbersInsteadOfItsSingleCalls) {
  const BlasLog log = read(gemm_files::rocblas_log);
  ASSERT_EQ(log.problems.size(), 2u);
  EXPECT_EQ(log.problems[0].problem,
            make_gemm(128, 256, 64, DataType::f16, DataType::f16, true, false));
  EXPECT_EQ(log.problems[0].count, 136u);
  EXPECT_EQ(log.problems[1].problem,
            make_gemm(4, 8, 16, DataType::f32, DataType::f32, false, true, 12));
  EXPECT_EQ(log.problems[1].count, 7u);
  EXPECT_EQ(log.ignored_lines, 0u);
  const std::string_view single =
      gemm_files::rocblas_log.substr(0, gemm_files::rocblas_log.find('\n') + 1);
  EXPECT_EQ(read(std::string(single) + std::string(single)).problems.at(0).count, 2u);
}

/// rocBLAS calls hipBLASLt by its extension for C++, so that a call is in the log of both. A
/// program calls hipBLASLt by its interface for C.
TEST(BlasLog, AddsTheCallsOfBothLibrariesAndNoneTwice) {
  const auto lt = [](const std::string& way, int times) {
    std::string lines;
    for (int i = 0; i < times; ++i) {
      lines += "hipblaslt-bench --api_method " + way +
               " -m 256 -n 128 -k 64 --lda 256 --ldb 128 --ldc 256 --ldd 256 --transA N --transB T "
               "--a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r --compute_type f32_r\n";
    }
    return lines;
  };
  const std::string total(gemm_files::rocblas_log);
  const std::string single = total.substr(0, total.find('\n') + 1);
  const auto count = [](const std::string& text) { return read(text).problems.at(0).count; };
  EXPECT_EQ(read(lt("c", 1) + total).problems.size(), 2u) << "not the same GEMM";
  EXPECT_EQ(count(lt("c", 3) + total), 139u);
  EXPECT_EQ(count(lt("cpp", 136) + total), 136u);
  EXPECT_EQ(count(lt("cpp", 140) + total), 140u) << "the program itself made four of them";
  EXPECT_EQ(count(lt("cpp", 136) + lt("c", 2) + total), 138u);
  EXPECT_EQ(count(single + lt("cpp", 1) + single + lt("cpp", 1) + lt("c", 1)), 3u);
  EXPECT_EQ(count(lt("cpp", 2) + lt("c", 1)), 3u);
}

TEST(BlasLog, ReadsPyTorchsCalls) {
  const BlasLog log = read(
      "GemmTunableOp_BFloat16_TN,tn_8_4_16,BLAS_PARAMS: - { function: matmul, M: 8, N: 4, K: 16, "
      "lda: 16, ldb: 16, ldc: 8, ldd: 8, stride_a: 0, stride_b: 0, stride_c: 0, stride_d: 0, "
      "alpha: 1.0000, beta: 0.0000, transA: t, transB: n, batch_count: 1, a_type: bf16_r, b_type: "
      "bf16_r, c_type: bf16_r, d_type: bf16_r, scale_type: f32_r, bias_type: f32_r, compute_type: "
      "f32_r }\n");
  ASSERT_EQ(log.problems.size(), 1u);
  EXPECT_EQ(log.problems[0].problem,
            make_gemm(4, 8, 16, DataType::bf16, DataType::bf16, false, true));
}

TEST(BlasLog, EveryEpilogueOfHipBlasLt) {
  const auto of = [](const std::string& words) {
    const auto logged =
        parse_logged_call("hipblaslt-bench -m 8 -n 8 -k 8 --transA N --transB N -r f16_r " + words);
    return logged.ok() ? (*logged)->call.epilogue : Epilogue::none;
  };
  EXPECT_EQ(of("--activation_type relu"), Epilogue::relu);
  EXPECT_EQ(of("--bias_vector"), Epilogue::bias);
  EXPECT_EQ(of("--activation_type relu --bias_vector"), Epilogue::relu_bias);
  EXPECT_EQ(of("--activation_type gelu"), Epilogue::gelu);
  EXPECT_EQ(of("--activation_type gelu --gradient"), Epilogue::dgelu);
  EXPECT_EQ(of("--activation_type gelu --bias_vector"), Epilogue::gelu_bias);
  EXPECT_EQ(of("--activation_type gelu --use_e"), Epilogue::gelu_aux);
  EXPECT_EQ(of("--activation_type gelu --bias_vector --use_e"), Epilogue::gelu_aux_bias);
  EXPECT_EQ(of("--activation_type gelu --bias_vector --gradient"), Epilogue::dgelu_bgrad);
  EXPECT_EQ(of("--bias_vector --gradient --bias_source a"), Epilogue::bgrad_b);
  EXPECT_EQ(of("--bias_vector --gradient --bias_source b"), Epilogue::bgrad_a);
}

TEST(BlasLog, DamagedAndLargeLogsAreRead) {
  std::mt19937 random(3);
  for (const std::string_view sample : {gemm_files::hipblaslt_log, gemm_files::rocblas_log}) {
    for (int round = 0; round < 800; ++round) {
      std::string text(sample);
      for (int i = 0; i < 1 + round % 8; ++i) {
        text[random() % text.size()] = static_cast<char>(random() % 256);
      }
      if (round % 3 == 0) text.resize(random() % text.size());
      for (const CountedProblem& found : read(text).problems) {
        EXPECT_TRUE(validate(found.problem).ok());
        EXPECT_GT(found.count, 0u);
      }
    }
  }
  const auto began = std::chrono::steady_clock::now();
  BlasLogReader reader;
  for (std::size_t i = 1; i <= 50'000; ++i) {
    reader.take(i,
                fmt::format("hipblaslt-bench -m {} -n 8 -k 8 --transA N --transB N -r f16_r", i));
    reader.take(i, "hipblaslt-bench -m 0 -n 8 -k 8 --transA N --transB N -r f16_r");
  }
  reader.take(1, "hipblaslt-bench " + std::string(2'000'000, '-'));
  reader.take(1, "rocblas_function: " + std::string(2'000'000, ','));
  const BlasLog log = std::move(reader).finish();
  EXPECT_EQ(log.problems.size(), 50'000u);
  EXPECT_EQ(log.ignored_lines, 50'000u);
  EXPECT_LE(log.ignored.size(), 20u);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
}

}  // namespace
}  // namespace assay
