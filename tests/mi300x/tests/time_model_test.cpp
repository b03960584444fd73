// The time model: instructions at the rates of the data sheets, launches at the chip's peaks.
#include "emulator/time_model.h"

#include <gmock/gmock.h>

#include "emulator/code_object.h"

namespace mi300x {
namespace {

using ::testing::DoubleNear;

Price price_of(const char* text, const char* arch = "gfx942") {
  return price(decode(text, arch), arch);
}

TEST(TimeModel, MatrixInstructionsTakeTheirPasses) {
  EXPECT_EQ(price_of("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]").cycles, 32);
  EXPECT_EQ(price_of("v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]").cycles, 16);
  EXPECT_EQ(price_of("v_mfma_f32_32x32x16_fp8_fp8 a[0:15], v[0:1], v[2:3], a[0:15]").cycles, 32);
  EXPECT_EQ(price_of("v_mfma_f32_16x16x32_bf8_fp8 a[0:3], v[0:1], v[2:3], a[0:3]").cycles, 16);
  EXPECT_EQ(price_of("v_mfma_i32_32x32x16_i8 a[0:15], v[0:1], v[2:3], a[0:15]").cycles, 32);
  EXPECT_EQ(price_of("v_mfma_f32_32x32x1_2b_f32 a[0:31], v0, v1, a[0:31]").cycles, 64);
  EXPECT_EQ(price_of("v_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], a[0:3]").cycles, 8);
  EXPECT_EQ(price_of("v_mfma_f32_16x16x8_xf32 a[0:3], v[0:1], v[2:3], a[0:3]").cycles, 16);
  EXPECT_EQ(price_of("v_mfma_f64_16x16x4_f64 a[0:7], v[0:1], v[2:3], a[0:7]").cycles, 32);
  EXPECT_EQ(price_of("v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10").cycles, 16);
  const char* old = "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]";
  EXPECT_EQ(price_of(old, "gfx90a").cycles, 64);
  const char* older = "v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]";
  EXPECT_EQ(price_of(older, "gfx90a").cycles, 64);
}

TEST(TimeModel, OtherInstructionsTakeTheirUnitsRate) {
  EXPECT_EQ(price_of("v_fma_f32 v0, v1, v2, v3").cycles, 4);
  EXPECT_EQ(price_of("v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]").cycles, 4);
  EXPECT_EQ(price_of("v_mul_lo_u32 v0, v1, v2").cycles, 16);
  EXPECT_EQ(price_of("v_rcp_f32_e32 v0, v1").cycles, 16);
  EXPECT_EQ(price_of("v_rcp_f64_e32 v[0:1], v[2:3]").cycles, 32);
  EXPECT_EQ(price_of("ds_read_b128 v[0:3], v4").cycles, 8);
  EXPECT_EQ(price_of("ds_read2_b64 v[0:3], v4 offset1:1").cycles, 8);
  EXPECT_EQ(price_of("ds_write_b32 v0, v1").cycles, 4);
  const Price load = price_of("global_load_dwordx4 v[0:3], v[4:5], off");
  EXPECT_EQ(load.cycles, 16);
  EXPECT_EQ(load.global_bytes, 16);
  EXPECT_EQ(price_of("global_store_short v[0:1], v2, off").global_bytes, 2);
  EXPECT_EQ(price_of("global_atomic_add_f64 v[0:1], v[2:3], off").global_bytes, 8);
  EXPECT_EQ(price_of("s_nop 7").cycles, 32);
  EXPECT_EQ(price_of("s_sleep 2").cycles, 132);
  EXPECT_TRUE(price_of("s_sleep 2").sleeps);
}

TEST(TimeModel, AFullChipReachesItsPeaksAndNoMore) {
  const Chip chip;
  const Instruction matrix =
      decode("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", chip.arch);
  Work work;
  work.groups = 304 * 8;
  const double executions = 304e6;
  work.add(matrix, price(matrix, chip.arch), static_cast<u64>(executions));
  const double flops = executions * 2 * 32 * 32 * 8;
  EXPECT_THAT(flops / seconds(work, chip) / 1e12, DoubleNear(1307.4, 2));

  // There is one workgroup more than the compute units can share evenly, so one of them has nine.
  ++work.groups;
  EXPECT_THAT(flops / seconds(work, chip) / 1e12, DoubleNear(1307.4 * 8 / 9, 2));

  Work copy;
  copy.groups = 304;
  copy.global_bytes = 53'000'000'000;
  EXPECT_THAT(seconds(copy, chip), DoubleNear(0.01, 1e-5));

  Work lonely;
  lonely.groups = 1;
  lonely.longest_wave = 2'100'000'000;
  EXPECT_THAT(seconds(lonely, chip), DoubleNear(1.0, 1e-4));
}

TEST(TimeModel, ComputeUnitsHoldWhatRegistersAndLdsAllow) {
  const Chip chip;
  KernelInfo kernel;
  kernel.vector_registers = 64;
  EXPECT_EQ(groups_per_unit(kernel, 4, 0, chip), 8u);
  EXPECT_EQ(groups_per_unit(kernel, 4, 16384, chip), 4u);
  kernel.vector_registers = 512;
  EXPECT_EQ(groups_per_unit(kernel, 4, 0, chip), 1u);
  EXPECT_EQ(groups_per_unit(kernel, 8, 0, chip), 0u);
}

}  // namespace
}  // namespace mi300x
