// Decodes lines printed by llvm-objdump into instructions.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "emulator/code_object.h"
#include "kernel_test.h"

namespace mi300x {
namespace {

Instruction gfx942(std::string_view text) {
  return decode(text, "gfx942");
}

/// Returns "v1+2 s4" for the ranges {1, 2} and {512 + 4, 1}.
std::string names(const std::vector<RegisterRange>& ranges) {
  std::string text;
  for (const RegisterRange& range : ranges) {
    if (!text.empty()) text += ' ';
    text += range.first >= first_scalar        ? fmt::format("s{}", range.first - first_scalar)
            : range.first >= first_accumulator ? fmt::format("a{}", range.first - first_accumulator)
                                               : fmt::format("v{}", range.first);
    if (range.count > 1) text += fmt::format("+{}", range.count);
  }
  return text;
}

u64 constant_of(std::string_view text, unsigned source) {
  const Instruction instruction = gfx942(text);
  EXPECT_EQ(instruction.sources[source].kind, OperandKind::constant) << text;
  return instruction.sources[source].constant;
}

void expect_unknown(std::string_view text, std::string_view why, const std::string& arch) {
  const Fault fault = fault_of([&] { decode(text, arch); });
  EXPECT_EQ(fault.kind, FaultKind::unknown_instruction);
  EXPECT_THAT(fault.what(), testing::HasSubstr(std::string(text)));
  EXPECT_THAT(fault.what(), testing::HasSubstr(std::string(why)));
}

TEST(Decode, AnEncodingIsNoPartOfTheOperation) {
  for (const char* text :
       {"v_add_f32_e32 v1, v2, v3", "v_add_f32_e64 v1, v2, v3",
        "v_add_f32_dpp v1, v2, v3 row_shl:1 row_mask:0xf bank_mask:0xf",
        "v_add_f32_sdwa v1, v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
        "src1_sel:DWORD"}) {
    const Instruction instruction = gfx942(text);
    EXPECT_EQ(instruction.operation->name, "v_add_f32") << text;
    EXPECT_EQ(instruction.text, text);
    EXPECT_EQ(names(instruction.writes), "v1");
  }
}

TEST(Decode, Registers) {
  EXPECT_EQ(names(gfx942("v_mov_b32_e32 v7, s101").reads), "s101");
  EXPECT_EQ(names(gfx942("global_store_dwordx4 v0, a[4:7], s[2:3]").reads), "v0 a4+4 s2+2");
  EXPECT_EQ(names(gfx942("s_mov_b64 s[0:1], exec").reads), "s126+2");
  EXPECT_EQ(names(gfx942("s_mov_b32 m0, vcc_hi").reads), "s107");
  EXPECT_EQ(names(gfx942("s_mov_b32 m0, ttmp5").writes), "s124");
  EXPECT_EQ(names(gfx942("s_mov_b32 s1, ttmp5").reads), "s113");
  EXPECT_EQ(names(gfx942("s_mov_b64 flat_scratch, s[2:3]").writes), "s102+2");
  EXPECT_EQ(gfx942("global_load_dword v1, v[2:3], off").sources[1].kind, OperandKind::none);
  const Operand base = gfx942("s_mov_b64 s[0:1], src_shared_base").sources[0];
  EXPECT_EQ(base.kind, OperandKind::special);
  EXPECT_EQ(base.index, static_cast<u16>(Special::shared_base));
  EXPECT_EQ(base.words, 2);
  expect_unknown("v_mov_b32_e32 v0, v256", "v256", "gfx942");
  expect_unknown("s_mov_b32 s0, src_lds_direct", "src_lds_direct", "gfx942");
}

TEST(Decode, AConstantHasTheBitsOfTheTypeThatIsRead) {
  EXPECT_EQ(constant_of("v_add_f32_e32 v0, 1.0, v1", 0), 0x3F800000u);
  EXPECT_EQ(constant_of("v_add_f32_e32 v0, -1, v1", 0), 0xFFFFFFFFu);
  EXPECT_EQ(constant_of("v_add_f32_e32 v0, 0.15915494, v1", 0), 0x3E22F983u);
  EXPECT_EQ(constant_of("v_add_f32_e32 v0, 0x40490fdb, v1", 0), 0x40490FDBu);
  EXPECT_EQ(constant_of("v_add_f16_e32 v0, -4.0, v1", 0), 0xC400u);
  EXPECT_EQ(constant_of("v_add_f64 v[0:1], v[2:3], 0.5", 1), 0x3FE0000000000000u);
  EXPECT_EQ(constant_of("v_ceil_f64_e32 v[0:1], 0x40490fdb", 0), 0x40490FDB00000000u);
  EXPECT_EQ(constant_of("s_and_b32 s0, s1, 2.0", 1), 0x40000000u);
  EXPECT_EQ(constant_of("s_mov_b64 s[0:1], -1", 0), ~u64{0});
  EXPECT_EQ(constant_of("s_mov_b64 s[0:1], 1.0", 0), 0x3FF0000000000000u);
  EXPECT_EQ(constant_of("v_pk_add_f16 v0, 1.0, v1", 0), 0x3C00u);
  EXPECT_EQ(constant_of("v_pk_fma_f32 v[0:1], v[0:1], 1.0, v[2:3]", 1), 0x3F800000u);
  expect_unknown("v_add_f32_e32 v0, 3.0, v1", "3.0", "gfx942");
}

TEST(Decode, ALiteralOfSignedOperationsKeepsItsSignIn64Bits) {
  EXPECT_EQ(constant_of("s_mov_b64 s[0:1], 0x80000000", 0), 0x80000000u);
  EXPECT_EQ(constant_of("v_cmp_lt_i64_e32 vcc, 0x80000000, v[0:1]", 0), 0xFFFFFFFF80000000u);
  EXPECT_EQ(constant_of("v_cmp_lt_u64_e32 vcc, 0x80000000, v[0:1]", 0), 0x80000000u);
}

TEST(Decode, SourceModifiers) {
  const Instruction add = gfx942("v_add_f32_e64 v0, neg(1), -|v1| clamp mul:4");
  EXPECT_EQ(add.sources[0].kind, OperandKind::constant);
  EXPECT_TRUE(add.sources[0].negate);
  EXPECT_FALSE(add.sources[0].absolute);
  EXPECT_TRUE(add.sources[1].negate);
  EXPECT_TRUE(add.sources[1].absolute);
  EXPECT_TRUE(add.clamp);
  EXPECT_EQ(add.output_modifier, 2);
  EXPECT_EQ(gfx942("v_add_f32_e64 v0, v1, v2 div:2").output_modifier, 3);
  EXPECT_FALSE(gfx942("v_add_f32_e32 v0, -1.0, v1").sources[0].negate);
}

TEST(Decode, HalvesOfSources) {
  const Instruction packed = gfx942(
      "v_pk_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,1] neg_lo:[0,1,0] "
      "neg_hi:[0,0,1]");
  EXPECT_EQ(packed.op_sel, 1);
  EXPECT_EQ(packed.op_sel_hi, 5);
  EXPECT_EQ(packed.neg_lo, 2);
  EXPECT_EQ(packed.neg_hi, 4);
  EXPECT_EQ(gfx942("v_pk_add_f32 v[0:1], v[2:3], v[4:5]").op_sel_hi, 7);
  EXPECT_EQ(gfx942("v_fma_mix_f32 v0, v1, v2, v3").op_sel_hi, 0);
  // The last entry belongs to the target, whose other half is preserved.
  const Instruction narrow = gfx942("v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]");
  EXPECT_EQ(narrow.op_sel, 8);
  EXPECT_THAT(names(narrow.reads), testing::HasSubstr("v0"));
  EXPECT_EQ(gfx942("v_cvt_sr_fp8_f32 v0, v1, v2 op_sel:[0,0,1,1]").op_sel, 12);
}

TEST(Decode, LaneControlsAsTheHardwareEncodesThem) {
  const std::pair<const char*, unsigned> controls[] = {
      {"quad_perm:[1,0,3,2]", 0xB1}, {"row_shl:15", 0x10F},   {"row_shr:1", 0x111},
      {"row_ror:8", 0x128},          {"wave_shl:1", 0x130},   {"wave_rol:1", 0x134},
      {"wave_shr:1", 0x138},         {"wave_ror:1", 0x13C},   {"row_mirror", 0x140},
      {"row_half_mirror", 0x141},    {"row_bcast:15", 0x142}, {"row_bcast:31", 0x143},
      {"row_newbcast:3", 0x153},
  };
  for (const auto& [text, control] : controls) {
    const Instruction move =
        gfx942(fmt::format("v_mov_b32_dpp v0, v1 {} row_mask:0x3 bank_mask:0xf", text));
    EXPECT_TRUE(move.dpp.used);
    EXPECT_EQ(move.dpp.control, control) << text;
    EXPECT_EQ(move.dpp.row_mask, 3);
    EXPECT_EQ(move.dpp.bank_mask, 15);
    EXPECT_FALSE(move.dpp.bound_control);
    EXPECT_EQ(names(move.reads), "v0 v1") << "lanes that get nothing keep the old value";
  }
  const Instruction zeros =
      gfx942("v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:1");
  EXPECT_TRUE(zeros.dpp.bound_control);
  EXPECT_EQ(names(zeros.reads), "v1");
  expect_unknown("v_mov_b32_dpp v0, v1 row_shl:16", "16", "gfx942");
}

TEST(Decode, PartsOfRegisters) {
  const Instruction add = gfx942(
      "v_add_u32_sdwa v0, sext(v1), v2 dst_sel:BYTE_3 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
      "src1_sel:BYTE_0");
  EXPECT_TRUE(add.sdwa.used);
  EXPECT_EQ(add.sdwa.target, 3);
  EXPECT_EQ(add.sdwa.target_unused, 2);
  EXPECT_EQ(add.sdwa.source[0], 5);
  EXPECT_EQ(add.sdwa.source[1], 0);
  EXPECT_TRUE(add.sources[0].sign_extend);
  EXPECT_FALSE(add.sources[1].sign_extend);
  EXPECT_EQ(names(add.reads), "v0 v1 v2");
}

TEST(Decode, ComparisonsWriteMasks) {
  EXPECT_EQ(names(gfx942("v_cmp_lt_u32_e32 vcc, v0, v1").writes), "s106+2");
  EXPECT_EQ(names(gfx942("v_cmp_lt_u32_e64 s[4:5], v0, v1").writes), "s4+2");
  EXPECT_EQ(names(gfx942("v_add_co_u32_e32 v0, vcc, v1, v2").writes), "v0 s106+2");
  EXPECT_EQ(names(gfx942("v_addc_co_u32_e32 v0, vcc, v1, v2, vcc").reads), "v1 v2 s106+2");
}

TEST(Decode, MaskedExecutionIsReadAndWrittenByWhatSavesIt) {
  const Instruction save = gfx942("s_and_saveexec_b64 s[0:1], vcc");
  EXPECT_EQ(names(save.reads), "s106+2 s126+2");
  EXPECT_EQ(names(save.writes), "s0+2 s126+2");
}

TEST(Decode, MemoryOffsetsAndCacheBits) {
  const Instruction load = gfx942("flat_load_dword v1, v[2:3] offset:12 sc0 sc1 nt");
  EXPECT_EQ(load.offset, 12);
  EXPECT_TRUE(load.sc0 && load.sc1 && load.nt);
  const Instruction old = decode("global_load_dword v1, v[2:3], off offset:-4 glc", "gfx90a");
  EXPECT_EQ(old.offset, -4);
  EXPECT_TRUE(old.sc0);
  EXPECT_FALSE(old.sc1);
  const Instruction pair = gfx942("ds_read2_b64 v[0:3], v4 offset0:2 offset1:255");
  EXPECT_EQ(pair.offset0, 2);
  EXPECT_EQ(pair.offset1, 255);
  EXPECT_TRUE(gfx942("buffer_inv sc1").sc1);
  const Instruction buffer = gfx942("buffer_load_dword v0, v1, s[4:7], s3 offen offset:8");
  EXPECT_TRUE(buffer.offen);
  EXPECT_EQ(names(buffer.reads), "v1 s4+4 s3");
  EXPECT_EQ(names(gfx942("buffer_load_dword v1, s[4:7], 0 offen lds").writes), "");
  expect_unknown("flat_load_dword v1, v[2:3] glc", "glc", "gfx942");
  expect_unknown("ds_add_u32 v0, v1 gds", "gds", "gfx90a");
}

TEST(Decode, AScalarLoadHasItsConstantAsOffset) {
  const Instruction load = gfx942("s_load_dwordx2 s[0:1], s[2:3], -0x4");
  EXPECT_EQ(load.offset, -4);
  EXPECT_EQ(load.source_count, 1);
  const Instruction both = gfx942("s_load_dword s0, s[2:3], s5 offset:0x10");
  EXPECT_EQ(both.offset, 16);
  EXPECT_EQ(names(both.reads), "s2+2 s5");
}

TEST(Decode, AnAtomicReturnsTheOldValueIfItsCacheBitSaysSo) {
  const Instruction returns = gfx942("global_atomic_add v0, v1, v2, s[0:1] sc0");
  EXPECT_EQ(names(returns.writes), "v0");
  EXPECT_EQ(returns.source_count, 3);
  const Instruction silent = gfx942("global_atomic_add v1, v2, s[0:1]");
  EXPECT_EQ(names(silent.writes), "");
  EXPECT_EQ(silent.source_count, 3);
  EXPECT_EQ(decode("global_atomic_add v0, v1, v2, s[0:1] glc", "gfx90a").target_count, 1);
}

TEST(Decode, SwizzlesAsTheHardwareEncodesThem) {
  const std::pair<const char*, i32> patterns[] = {
      {"swizzle(QUAD_PERM,1,0,3,2)", 0x80B1}, {"swizzle(BITMASK_PERM,\"01pip\")", 0x0907},
      {"swizzle(BROADCAST,8,2)", 0x0058},     {"swizzle(SWAP,16)", 0x401F},
      {"swizzle(REVERSE,8)", 0x1C1F},         {"57345", 0xE001},
  };
  for (const auto& [text, pattern] : patterns) {
    EXPECT_EQ(gfx942(fmt::format("ds_swizzle_b32 v0, v1 offset:{}", text)).offset, pattern) << text;
  }
}

TEST(Decode, ImmediatesOfScalarInstructions) {
  EXPECT_EQ(gfx942("s_nop 3").immediate, 3u);
  EXPECT_EQ(gfx942("s_cbranch_execz 65523").immediate, 0xFFF3u);
  EXPECT_EQ(gfx942("s_getreg_b32 s0, hwreg(HW_REG_HW_ID, 8, 4)").immediate, 0x1A04u);
  EXPECT_EQ(gfx942("s_getreg_b32 s0, hwreg(HW_REG_MODE)").immediate, 0xF801u);
  EXPECT_EQ(gfx942("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s1").immediate, 0x1801u);
  EXPECT_EQ(names(gfx942("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s1").reads), "s1");
  EXPECT_EQ(constant_of("s_movk_i32 s0, 0xff00", 0), 0xFFFFFF00u);
  EXPECT_EQ(constant_of("s_cmpk_lt_u32 s0, 0x8000", 1), 0x8000u);
}

TEST(Decode, WaitsNameTheirCounters) {
  const Instruction all = gfx942("s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)");
  EXPECT_EQ(all.wait_vector, 0);
  EXPECT_EQ(all.wait_export, 0);
  EXPECT_EQ(all.wait_scalar, 0);
  const Instruction some = gfx942("s_waitcnt vmcnt(54)");
  EXPECT_EQ(some.wait_vector, 54);
  EXPECT_EQ(some.wait_scalar, 15);
  expect_unknown("s_waitcnt vmcnt(64)", "vmcnt(64)", "gfx942");
  expect_unknown("s_waitcnt vscnt(0)", "vscnt(0)", "gfx942");
}

TEST(Decode, Matrices) {
  const Instruction single =
      gfx942("v_mfma_f32_32x32x1_2b_f32 a[0:31], v0, v1, 0 cbsz:1 abid:2 blgp:3");
  EXPECT_EQ(names(single.writes), "a0+32");
  EXPECT_EQ(single.cbsz, 1);
  EXPECT_EQ(single.abid, 2);
  EXPECT_EQ(single.blgp, 3);
  EXPECT_EQ(gfx942("v_mfma_f64_16x16x4_f64 a[0:7], v[0:1], v[2:3], a[0:7] neg:[1,0,1]").blgp, 5);
}

TEST(Decode, WhatIsNotKnownIsNamed) {
  expect_unknown("v_wish_f32 v0, v1", "no such operation", "gfx942");
  expect_unknown("v_add_f32_e64 v0, v1, v2 sparkle:1", "sparkle:1", "gfx942");
  expect_unknown("v_add_f32_e32", "a target is missing", "gfx942");
}

}  // namespace
}  // namespace mi300x
