// Scalar instructions: values, the condition code, EXEC, branches.
#include "wave_fixture.h"

namespace mi300x {
namespace {

class ScalarInstructions : public ::testing::Test {
 protected:
  /// "NAME s10, s2, s4" (or pairs), with the condition code it should leave; values of 40 rounds.
  template <class R, class... A>
  void check(const std::string& name, R (*value)(A...), bool (*scc)(A...) = nullptr) {
    check_forms(name, value, scc, std::index_sequence_for<A...>{});
  }
  static std::string registers(unsigned first, unsigned bytes) {
    if (bytes == 4) return "s" + std::to_string(first);
    return "s[" + std::to_string(first) + ":" + std::to_string(first + 1) + "]";
  }

  HandMadeWave hand;
  Wave& wave = hand.wave;
  ValueSource values;

 private:
  template <class R, class... A, std::size_t... n>
  void check_forms(const std::string& name, R (*value)(A...), bool (*scc)(A...),
                   std::index_sequence<n...>) {
    std::string text = name + " " + registers(10, sizeof(R));
    ((text += ", " + registers(2 + 2 * n, sizeof(A))), ...);
    for (unsigned round = 0; round < 200; ++round) {
      const std::tuple<A...> arguments{values.next<A>()...};
      (wave.set_scalar64(2 + 2 * n, u64(std::get<n>(arguments))), ...);
      wave.scc = round & 1;
      hand.execute(text);
      const R expected = value(std::get<n>(arguments)...);
      ASSERT_EQ(R(sizeof(R) == 8 ? wave.scalar64(10) : wave.scalar32(10)), expected) << text;
      ASSERT_EQ(wave.scc, scc ? scc(std::get<n>(arguments)...) : bool(round & 1)) << text;
    }
  }
};

TEST_F(ScalarInstructions, ValuesAndConditionCodes) {
  check(
      "s_add_u32", +[](u32 a, u32 b) { return a + b; },
      +[](u32 a, u32 b) { return u64{a} + b > 0xFFFFFFFF; });
  check(
      "s_sub_u32", +[](u32 a, u32 b) { return a - b; }, +[](u32 a, u32 b) { return a < b; });
  check(
      "s_add_i32", +[](i32 a, i32 b) { return i32(i64{a} + b); },
      +[](i32 a, i32 b) { return i64{a} + b > 0x7FFFFFFF || i64{a} + b < -0x80000000ll; });
  check(
      "s_mul_i32", +[](u32 a, u32 b) { return a * b; });
  check(
      "s_mul_hi_u32", +[](u32 a, u32 b) { return u32((u64{a} * b) >> 32); });
  check(
      "s_mul_hi_i32", +[](i32 a, i32 b) { return i32((i64{a} * b) >> 32); });
  check(
      "s_min_i32", +[](i32 a, i32 b) { return a < b ? a : b; },
      +[](i32 a, i32 b) { return a < b; });
  check(
      "s_and_b64", +[](u64 a, u64 b) { return a & b; }, +[](u64 a, u64 b) { return (a & b) != 0; });
  check(
      "s_andn2_b64", +[](u64 a, u64 b) { return a & ~b; },
      +[](u64 a, u64 b) { return (a & ~b) != 0; });
  check(
      "s_lshl_b64", +[](u64 a, u32 b) { return a << (b % 64); },
      +[](u64 a, u32 b) { return a << (b % 64) != 0; });
  check(
      "s_ashr_i32", +[](i32 a, u32 b) { return a >> (b % 32); },
      +[](i32 a, u32 b) { return a >> (b % 32) != 0; });
  check(
      "s_bcnt1_i32_b64", +[](u64 a) { return i32(__builtin_popcountll(a)); },
      +[](u64 a) { return a != 0; });
  check(
      "s_ff1_i32_b64", +[](u64 a) { return a ? __builtin_ctzll(a) : -1; });
  check(
      "s_flbit_i32_b32", +[](u32 a) { return a ? __builtin_clz(a) : -1; });
  check(
      "s_brev_b32", +[](u32 a) {
        u32 r = 0;
        for (int i = 0; i < 32; ++i) r = r << 1 | (a >> i & 1);
        return r;
      });
  check(
      "s_pack_lh_b32_b16", +[](u32 a, u32 b) { return a % 65536 + b / 65536 * 65536; });
  check(
      "s_mov_b64", +[](u64 a) { return a; });
}

// By the text of the ISA: D = S0 - S1, negated if that is negative.
TEST_F(ScalarInstructions, MagnitudeOfADifferenceThatWraps) {
  check(
      "s_absdiff_i32", +[](u32 a, u32 b) { return u32(std::abs(i64{i32(a - b)})); },
      +[](u32 a, u32 b) { return a != b; });
  wave.set_scalar64(2, 0x8083315D);
  wave.set_scalar64(4, 0x7A1DB77A);
  hand.execute("s_absdiff_i32 s10, s2, s4");
  EXPECT_EQ(wave.scalar32(10), 0x066579E3u);
}

TEST_F(ScalarInstructions, FieldsWithTheirSigns) {
  wave.set_scalar64(2, 0x8000000000000F00);
  hand.execute("s_bfe_u32 s10, s2, 0x40008");
  EXPECT_EQ(wave.scalar32(10), 0xFu);
  EXPECT_TRUE(wave.scc);
  hand.execute("s_bfe_i32 s10, s2, 0x40008");
  EXPECT_EQ(wave.scalar32(10), ~0u);
  hand.execute("s_bfe_i64 s[10:11], s[2:3], 0x80038");
  EXPECT_EQ(wave.scalar64(10), 0xFFFFFFFFFFFFFF80);
  hand.execute("s_bfe_u64 s[10:11], s[2:3], 0x80038");
  EXPECT_EQ(wave.scalar64(10), 0x80u);
  hand.execute("s_bfm_b32 s10, 4, 8");
  EXPECT_EQ(wave.scalar32(10), 0xF00u);
}

TEST_F(ScalarInstructions, ConstantsCarriesAndChoices) {
  wave.set_scalar32(2, 0xFFFFFFFF);
  wave.scc = true;
  hand.execute("s_addc_u32 s10, s2, 0");
  EXPECT_EQ(wave.scalar32(10), 0u);
  EXPECT_TRUE(wave.scc);
  hand.execute("s_subb_u32 s10, 0, 0");
  EXPECT_EQ(wave.scalar32(10), ~0u);
  EXPECT_TRUE(wave.scc);
  hand.execute("s_movk_i32 s10, 0x8000");
  EXPECT_EQ(wave.scalar32(10), 0xFFFF8000u);
  hand.execute("s_addk_i32 s10, 0x1");
  EXPECT_EQ(wave.scalar32(10), 0xFFFF8001u);
  EXPECT_FALSE(wave.scc);
  hand.execute("s_cmpk_lt_u32 s10, 0xffff");
  EXPECT_FALSE(wave.scc);
  hand.execute("s_cmpk_lt_i32 s10, 0xffff");
  EXPECT_TRUE(wave.scc);
  hand.execute("s_cselect_b32 s11, 1, 2");
  EXPECT_EQ(wave.scalar32(11), 1u);
  hand.execute("s_bitcmp1_b32 s11, 0");
  EXPECT_TRUE(wave.scc);
  hand.execute("s_bitset1_b64 s[12:13], 40");
  EXPECT_EQ(wave.scalar64(12), u64{1} << 40);
}

TEST_F(ScalarInstructions, ExecIsSavedAndMasked) {
  wave.set_exec(0xFF);
  wave.set_scalar64(2, 0xF0F);
  hand.execute("s_and_saveexec_b64 s[10:11], s[2:3]");
  EXPECT_EQ(wave.scalar64(10), 0xFFu);
  EXPECT_EQ(wave.exec(), 0xFu);
  EXPECT_TRUE(wave.scc);
  hand.execute("s_andn2_saveexec_b64 s[10:11], s[2:3]");
  EXPECT_EQ(wave.exec(), 0xF00u) << "the source without EXEC";
  hand.execute("s_andn1_saveexec_b64 s[10:11], s[2:3]");
  EXPECT_EQ(wave.exec(), 0u) << "EXEC without the source";
  EXPECT_FALSE(wave.scc);
}

TEST_F(ScalarInstructions, BranchesAreTaken) {
  const auto taken = [&](const std::string& name) {
    Instruction branch = decode(name + " 5", "gfx942");
    branch.branch = 77;
    wave.next = 1;
    branch.operation->execute(wave, branch);
    return wave.next == 77;
  };
  wave.scc = true;
  EXPECT_TRUE(taken("s_cbranch_scc1"));
  EXPECT_FALSE(taken("s_cbranch_scc0"));
  wave.set_vcc(0);
  EXPECT_TRUE(taken("s_cbranch_vccz"));
  EXPECT_FALSE(taken("s_cbranch_vccnz"));
  wave.set_exec(u64{1} << 63);
  EXPECT_TRUE(taken("s_cbranch_execnz"));
  EXPECT_FALSE(taken("s_cbranch_execz"));
  EXPECT_TRUE(taken("s_branch"));
  hand.execute("s_barrier");
  EXPECT_TRUE(wave.at_barrier);
  hand.execute("s_endpgm");
  EXPECT_TRUE(wave.ended);
  expect_fault([&] { hand.execute("s_trap 2"); }, FaultKind::trap, "s_trap");
}

TEST_F(ScalarInstructions, ModeIsReadAndWritten) {
  wave.mode = 0x3F0;
  hand.execute("s_getreg_b32 s10, hwreg(HW_REG_MODE, 4, 4)");
  EXPECT_EQ(wave.scalar32(10), 0xFu);
  hand.execute("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0");
  EXPECT_EQ(wave.mode, 0x3C0u);
  expect_fault([&] { hand.execute("s_getreg_b32 s10, hwreg(HW_REG_TRAPSTS)"); },
               FaultKind::unknown_instruction, "hardware register");
}

}  // namespace
}  // namespace mi300x
