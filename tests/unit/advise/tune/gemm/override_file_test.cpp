#include "advise/tune/gemm/override_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "unit/gemm_file_samples.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(OverrideFile, EveryGenerationComesBackAsItWas) {
  for (const std::string_view text :
       {gemm_files::override_ten, gemm_files::override_bench, gemm_files::override_named}) {
    const OverrideFile file = parse_override(text);
    EXPECT_THAT(file.ignored, IsEmpty());
    EXPECT_EQ(text_of(file), text);
  }
}

TEST(OverrideFile, RowsAreProducts) {
  const OverrideFile ten = parse_override(gemm_files::override_ten);
  const auto batched = problem_of(ten.rows.at(1).call().value());
  ASSERT_TRUE(batched.ok());
  EXPECT_EQ(*batched, make_gemm(128, 128, 64, DataType::bf16, DataType::f32, false, true, 4));
  EXPECT_EQ(ten.rows[1].solution_index(), 21);
  const OverrideFile named = parse_override(gemm_files::override_named);
  EXPECT_EQ(named.git_version, "fa9cdd18");
  GemmProblem expected = make_gemm(32768, 32, 2880, DataType::bf16, DataType::f32, false, true);
  expected.epilogue = Epilogue::gelu_bias;
  EXPECT_EQ(problem_of(named.rows.at(0).call().value()).value(), expected);
  EXPECT_EQ(named.rows[0].solution_index(), 24641);
  const OverrideFile bench = parse_override(gemm_files::override_bench);
  EXPECT_EQ(bench.rows.at(0).call().value().beta, 1);
}

TEST(OverrideFile, WhatIsWrittenIsReadBackInEveryGeneration) {
  GemmProblem p = make_gemm(512, 1024, 256, DataType::bf16, DataType::bf16, false, true);
  p.ldd += 8;
  p.stride_d = p.m * p.ldd;
  OverrideWinner winner = {call_of(p), 4711, "Sol", "Cijk_Alik", 20e-6, 512 << 20, "gfx942:x", 304};
  for (const OverrideFormat format :
       {OverrideFormat::ten, OverrideFormat::bench, OverrideFormat::named}) {
    const auto row = override_row(winner, format);
    ASSERT_TRUE(row.ok()) << row.error().message;
    const OverrideFile written = {"abc", {*row}, {}};
    const OverrideFile read = parse_override(text_of(written));
    EXPECT_THAT(read.ignored, IsEmpty());
    ASSERT_EQ(read.rows.size(), 1u);
    EXPECT_EQ(read.rows[0], *row);
    EXPECT_EQ(read.rows[0].solution_index(), 4711);
    GemmProblem expected = p;
    if (format == OverrideFormat::ten) {  // has no leading dimensions
      expected = make_gemm(512, 1024, 256, DataType::bf16, DataType::bf16, false, true);
    }
    EXPECT_EQ(problem_of(read.rows[0].call().value()).value(), expected);
    if (format == OverrideFormat::bench) EXPECT_EQ(row->columns.size(), 37u);
    if (format == OverrideFormat::ten) EXPECT_EQ(row->columns.size(), 10u);
  }
  winner.kernel_name = "two,names";
  EXPECT_EQ(override_row(winner, OverrideFormat::named)->at("kernel_name"), "");
  EXPECT_EQ(override_row(winner, OverrideFormat::bench)->at("kernel_name"), "-");
  winner.index = 0;
  EXPECT_FALSE(override_row(winner, OverrideFormat::bench).ok());
  EXPECT_TRUE(override_row(winner, OverrideFormat::named).ok());
  winner.index = 1;
  winner.call.epilogue = Epilogue::dgelu;
  EXPECT_THAT(override_row(winner, OverrideFormat::named).error().message, HasSubstr("dgelu"));
}

TEST(OverrideFile, RowsThatDoNotFitSayWhy) {
  const OverrideFile named = parse_override(gemm_files::override_named);
  const OverrideRow& row = named.rows[0];
  EXPECT_EQ(misfit(named, row, {"fa9cdd18", "gfx950:sramecc+:xnack-", 256}), "");
  EXPECT_THAT(misfit(named, row, {"0000", "gfx950:sramecc+:xnack-", 256}),
              HasSubstr("for hipBLASLt fa9cdd18, here is 0000"));
  EXPECT_THAT(misfit(named, row, {"fa9cdd18", "gfx942:sramecc+:xnack-", 256}), HasSubstr("gfx942"));
  EXPECT_THAT(misfit(named, row, {"fa9cdd18", "gfx950:sramecc+:xnack-", 304}), HasSubstr("304"));
  const OverrideFile bench = parse_override(gemm_files::override_bench);
  EXPECT_EQ(misfit(bench, bench.rows[0], {"other", "gfx942", 304}), "");  // checked by its name
  OverrideFile unstamped = named;
  unstamped.git_version.clear();
  EXPECT_THAT(misfit(unstamped, row, {"fa9cdd18", "gfx950:sramecc+:xnack-", 256}),
              HasSubstr("no line"));
  const OverrideFile ten = parse_override(gemm_files::override_ten);
  EXPECT_EQ(misfit(ten, ten.rows[0], {"any", "gfx942", 304}), "");
}

TEST(OverrideFile, DamageIsNamedOrPassedOver) {
  const OverrideFile odd = parse_override("N,N,1,2\nN,N,1,4,4,4,f16_r,f16_r,f32_r,none\n");
  ASSERT_EQ(odd.ignored.size(), 2u);
  EXPECT_THAT(odd.ignored[0].why, HasSubstr("4 columns"));
  EXPECT_THAT(odd.ignored[1].why, HasSubstr("solution"));
  const auto reason = [](const char* row) {
    const OverrideFile file = parse_override(row);
    return file.rows.empty() ? "" : file.rows[0].call().error().message;
  };
  EXPECT_THAT(reason("Q,N,1,4,4,4,f16_r,f16_r,f32_r,5"), HasSubstr("transA is \"Q\""));
  EXPECT_THAT(reason("N,N,1,4,4x,4,f16_r,f16_r,f32_r,5"), HasSubstr("n is \"4x\""));
  EXPECT_THAT(reason("N,N,1,4,4,4,f17_r,f16_r,f32_r,5"), HasSubstr("input_type is \"f17_r\""));
  std::mt19937 random(7);
  for (const std::string_view sample :
       {gemm_files::override_ten, gemm_files::override_bench, gemm_files::override_named}) {
    for (int round = 0; round < 500; ++round) {
      std::string text(sample);
      for (int i = 0; i < 1 + round % 8; ++i) {
        text[random() % text.size()] = static_cast<char>(random() % 256);
      }
      if (round % 3 == 0) text.resize(random() % text.size());
      const OverrideFile file = parse_override(text);
      for (const OverrideRow& row : file.rows) {
        const auto call = row.call();
        if (call.ok()) static_cast<void>(problem_of(*call));
        static_cast<void>(misfit(file, row, {"a", "b", 1}));
      }
    }
  }
  parse_override(std::string(1'000'000, ','));
  parse_override(std::string(1'000'000, '\n'));
}

}  // namespace
}  // namespace assay
