// Float vector instructions: arithmetic, minimum and maximum, conversions, comparisons, divisions.
#include "wave_fixture.h"

namespace mi300x {
namespace {

using VectorFloat = VectorTest;

TEST_F(VectorFloat, Arithmetic) {
  check(
      "v_add_f32", +[](float a, float b) { return a + b; });
  check(
      "v_sub_f32", +[](float a, float b) { return a - b; });
  check(
      "v_subrev_f32", +[](float a, float b) { return b - a; });
  check(
      "v_mul_f32", +[](float a, float b) { return a * b; });
  check(
      "v_fma_f32", +[](float a, float b, float c) { return std::fma(a, b, c); });
  check(
      "v_fmac_f32", +[](float a, float b, float c) { return std::fma(a, b, c); }, true);
  check(
      "v_add_f64", +[](double a, double b) { return a + b; });
  check(
      "v_mul_f64", +[](double a, double b) { return a * b; });
  check(
      "v_fma_f64", +[](double a, double b, double c) { return std::fma(a, b, c); });
  check(
      "v_floor_f32", +[](float a) { return std::floor(a); });
  check(
      "v_rndne_f64", +[](double a) { return std::nearbyint(a); });
  check(
      "v_ldexp_f32", +[](float a, i32 e) { return std::ldexp(a, e); });
  check(
      "v_ldexp_f64", +[](double a, i32 e) { return std::ldexp(a, e); });
}

TEST_F(VectorFloat, MadRoundsTwiceAndFlushesDenormals) {
  check(
      "v_mad_f32",
      +[](float a, float b, float c) {
        const auto flush = [](float x) {
          return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
        };
        volatile float product = flush(a) * flush(b);
        return flush(product + flush(c));
      },
      false, "gfx90a");
}

TEST_F(VectorFloat, ModifiersActOnTheSign) {
  hand.set(2, std::bit_cast<u32>(-3.0f));
  hand.set(4, std::bit_cast<u32>(5.0f));
  hand.execute("v_add_f32_e64 v10, |v2|, -v4");
  EXPECT_EQ(taken<float>(10, 5), -2.0f);
  hand.execute("v_mul_f32_e64 v10, -|v2|, v4 clamp");
  EXPECT_EQ(taken<float>(10, 5), 0.0f);
  hand.execute("v_mul_f32_e64 v10, |v2|, v4 clamp");
  EXPECT_EQ(taken<float>(10, 5), 1.0f);
  hand.execute("v_add_f64 v[10:11], 1.0, -v[2:3]");
}

float reference_min(float a, float b) {
  const auto signalling = [](float x) {
    return std::isnan(x) && !(std::bit_cast<u32>(x) & 0x400000);
  };
  if (signalling(a) || signalling(b)) return NAN;
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) return std::signbit(a) || std::signbit(b) ? -0.0f : 0.0f;
  return a < b ? a : b;
}

TEST_F(VectorFloat, LeastAndGreatestFollowIeeeMode) {
  check("v_min_f32", reference_min);
  check(
      "v_max_f32", +[](float a, float b) { return -reference_min(-a, -b); });
  check(
      "v_min3_f32",
      +[](float a, float b, float c) { return reference_min(reference_min(a, b), c); });
  // Without that mode numbers are the same, and NaNs are refused.
  hand.wave.mode = 0xF0;
  hand.set(2, std::bit_cast<u32>(3.0f));
  hand.set(4, std::bit_cast<u32>(-2.0f));
  hand.execute("v_min_f32 v10, v2, v4");
  EXPECT_EQ(hand.get(10, 0), std::bit_cast<u32>(-2.0f));
  hand.set(4, 0x7FC00000);
  expect_fault([&] { hand.execute("v_min_f32 v10, v2, v4"); }, FaultKind::unknown_instruction,
               "NaN while MODE.IEEE is off");
}

TEST_F(VectorFloat, NaNsAreTheFirstSourcesOrPositive) {
  hand.set(2, 0x7F800001);
  hand.set(4, 0xFFC00005);
  hand.execute("v_add_f32 v10, v2, v4");
  EXPECT_EQ(hand.get(10, 0), 0x7FC00001u);
  hand.execute("v_mul_f32 v10, 1.0, v4");
  EXPECT_EQ(hand.get(10, 0), 0xFFC00005u);
  hand.set(2, 0x7F800000);
  hand.execute("v_mul_f32 v10, 0, v2");
  EXPECT_EQ(hand.get(10, 63), 0x7FC00000u);
}

// By the text of the ISA: a signalling NaN, the first of two, made quiet; else, of two NaNs, the
// second.
TEST_F(VectorFloat, LeastAndGreatestOfNaNs) {
  struct {
    u32 a, b, result;
  } const cases[] = {{0x7FC00001, 0x7F800002, 0x7FC00002}, {0x7F800001, 0x7F800002, 0x7FC00001},
                     {0xFF800001, 0x7FC00002, 0xFFC00001}, {0x7FC00001, 0xFFC00002, 0xFFC00002},
                     {0x7FC00001, 0x3F800000, 0x3F800000}, {0x3F800000, 0x7F800002, 0x7FC00002}};
  for (const auto& [a, b, result] : cases) {
    for (const char* name : {"v_min_f32", "v_max_f32"}) {
      hand.set(2, a);
      hand.set(4, b);
      hand.execute(name + std::string(" v10, v2, v4"));
      EXPECT_EQ(hand.get(10, 9), result) << name << std::hex << " " << a << " " << b;
    }
    // The same NaNs in other widths.
    const auto wide = [](u32 x) {
      return u64{x >> 31} << 63 | (x & 0x400000 ? u64{0x7FF8} : u64{0x7FF0}) << 48 | (x & 0xFF);
    };
    const auto half = [](u32 x) {
      return (x >> 16 & 0x8000) | (x & 0x400000 ? 0x7E00 : 0x7C00) | (x & 0xFF);
    };
    if (a == 0x3F800000 || b == 0x3F800000) continue;
    put(2, 9, wide(a));
    put(4, 9, wide(b));
    hand.execute("v_max_f64 v[10:11], v[2:3], v[4:5]");
    EXPECT_EQ(hand.get64(10, 9), wide(result)) << std::hex << a << " " << b;
    hand.set(2, half(a) << 16);
    hand.set(4, half(b) << 16);
    hand.execute("v_pk_min_f16 v10, v2, v4");
    EXPECT_EQ(hand.get(10, 9), half(result) << 16) << std::hex << a << " " << b;
  }
  hand.wave.mode = 0xF0;
  expect_fault([&] { hand.execute("v_pk_max_f16 v10, v2, v4"); }, FaultKind::unknown_instruction,
               "NaN while MODE.IEEE is off");
}

TEST_F(VectorFloat, ANaNThatIsWidenedBecomesQuiet) {
  hand.set(2, 0x7C01);
  hand.execute("v_cvt_f32_f16 v10, v2");
  EXPECT_EQ(hand.get(10, 0), 0x7FC02000u);
  hand.set(2, 0x7F800001);
  hand.execute("v_cvt_f64_f32 v[10:11], v2");
  EXPECT_EQ(hand.get64(10, 0), 0x7FF8000020000000u);
}

TEST_F(VectorFloat, DenormalsAreFlushedIfModeSaysSo) {
  hand.set(2, 0x80000123);
  hand.execute("v_add_f32 v10, v2, v2");
  EXPECT_EQ(hand.get(10, 0), 0x80000246u);
  hand.execute("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0");
  hand.execute("v_add_f32 v10, v2, v2");
  EXPECT_EQ(hand.get(10, 0), 0x80000000u);
  hand.execute("v_mov_b32 v10, v2");
  EXPECT_EQ(hand.get(10, 0), 0x80000123u);
  hand.wave.mode = 0x3F1;
  expect_fault([&] { hand.execute("v_add_f32 v10, v2, v2"); }, FaultKind::unknown_instruction,
               "nearest even");
}

TEST_F(VectorFloat, ApproximationsLieWithinAnUlp) {
  for (unsigned round = 0; round < 20; ++round) {
    hand.set(2, [&](unsigned) { return u32(values.bits() % 0x3F000000 + 0x20000000); });
    hand.execute("v_rcp_f32 v10, v2");
    hand.execute("v_sqrt_f32 v11, v2");
    hand.execute("v_rsq_f32 v12, v2");
    hand.execute("v_log_f32 v13, v2");
    hand.execute("v_sin_f32 v14, v2");
    for (unsigned lane = 0; lane < wave_lanes; ++lane) {
      const double x = taken<float>(2, lane);
      EXPECT_NEAR(taken<float>(10, lane) * x, 1, 2e-7);
      EXPECT_NEAR(taken<float>(11, lane) / std::sqrt(x), 1, 2e-7);
      EXPECT_NEAR(taken<float>(12, lane) * std::sqrt(x), 1, 2e-7);
      EXPECT_NEAR(taken<float>(13, lane), std::log2(x), 1e-5);
      const double turns = x - std::floor(x);
      EXPECT_NEAR(taken<float>(14, lane), x > 256 ? 0 : std::sin(turns * 2 * M_PI), 2e-7);
    }
  }
  hand.set(2, 0x00400000);  // 2^-127, whose reciprocal fits; a denormal is 0 to it
  hand.execute("v_rcp_f32 v10, v2");
  EXPECT_EQ(hand.get(10, 0), 0x7F800000u);
}

TEST_F(VectorFloat, Conversions) {
  check(
      "v_cvt_f32_u32", +[](u32 a) { return float(a); });
  check(
      "v_cvt_f32_i32", +[](i32 a) { return float(a); });
  check(
      "v_cvt_f64_f32", +[](float a) { return double(a); });
  check(
      "v_cvt_f32_f64", +[](double a) { return float(a); });
  check(
      "v_cvt_i32_f32", +[](float a) {
        return std::isnan(a) ? 0 : i32(std::clamp(double(a), -2147483648.0, 2147483647.0));
      });
  check(
      "v_cvt_u32_f64",
      +[](double a) { return std::isnan(a) ? 0u : u32(std::clamp(a, 0.0, 4294967295.0)); });
  check(
      "v_cvt_f32_ubyte2", +[](u32 a) { return float(a / 65536 % 256); });
  check(
      "v_cvt_f16_f32", +[](float a) { return u32{f16_from_f32(a)}; });
  check(
      "v_cvt_f32_f16", +[](u32 a) { return f32_from_f16(u16(a)); });
  check(
      "v_cvt_f32_fp8", +[](u32 a) { return f32_from_fp8(u8(a)); });
}

TEST_F(VectorFloat, EightBitPairsGoIntoHalves) {
  hand.set(2, std::bit_cast<u32>(1.0f));
  hand.set(4, std::bit_cast<u32>(-2.0f));
  hand.set(10, 0xAAAABBBB);
  const u32 pair = fp8_from_f32(1.0f) | u32{fp8_from_f32(-2.0f)} << 8;
  hand.execute("v_cvt_pk_fp8_f32 v10, v2, v4");
  EXPECT_EQ(hand.get(10, 7), 0xAAAA0000 | pair);
  hand.execute("v_cvt_pk_fp8_f32 v10, v2, v4 op_sel:[0,0,1]");
  EXPECT_EQ(hand.get(10, 7), pair << 16 | pair);
  hand.execute("v_cvt_pk_f32_fp8 v[12:13], v10");
  EXPECT_EQ(taken<float>(12, 3), 1.0f);
  EXPECT_EQ(taken<float>(13, 3), -2.0f);
  hand.execute("v_cvt_f32_fp8_sdwa v12, v10 src0_sel:BYTE_1");
  EXPECT_EQ(taken<float>(12, 3), -2.0f);
  hand.set(10, 0);
  hand.execute("v_cvt_sr_fp8_f32 v10, v4, 0 op_sel:[0,0,1,0]");
  EXPECT_EQ(hand.get(10, 3), u32{fp8_from_f32(-2.0f)} << 8);
}

TEST_F(VectorFloat, Comparisons) {
  check(
      "v_cmp_lt_f32", +[](float a, float b) { return a < b; });
  check(
      "v_cmp_nlt_f32", +[](float a, float b) { return !(a < b); });
  check(
      "v_cmp_lg_f32", +[](float a, float b) { return a < b || a > b; });
  check(
      "v_cmp_u_f64", +[](double a, double b) { return std::isnan(a) || std::isnan(b); });
  check(
      "v_cmp_o_f32", +[](float a, float b) { return !std::isnan(a) && !std::isnan(b); });
  check(
      "v_cmp_neq_f64", +[](double a, double b) { return a != b; });
  check(
      "v_cmp_ge_i64", +[](i64 a, i64 b) { return a >= b; });
  check(
      "v_cmp_gt_u64", +[](u64 a, u64 b) { return a > b; });
  check(
      "v_cmp_le_i32", +[](i32 a, i32 b) { return a <= b; });
  check(
      "v_cmp_ne_u32", +[](u32 a, u32 b) { return a != b; });
  check(
      "v_cmp_t_u32", +[](u32, u32) { return true; });
  check(
      "v_cmp_lt_u16", +[](u32 a, u32 b) { return u16(a) < u16(b); });
  check(
      "v_cmp_lt_i16", +[](u32 a, u32 b) { return i16(a) < i16(b); });
  check(
      "v_cmp_class_f32", +[](float x, u32 wanted) {
        const bool signalling = !(std::bit_cast<u32>(x) & 0x400000), negative = std::signbit(x);
        switch (std::fpclassify(x)) {
          case FP_NAN:
            return bool(wanted >> (signalling ? 0 : 1) & 1);
          case FP_INFINITE:
            return bool(wanted >> (negative ? 2 : 9) & 1);
          case FP_SUBNORMAL:
            return bool(wanted >> (negative ? 4 : 7) & 1);
          case FP_ZERO:
            return bool(wanted >> (negative ? 5 : 6) & 1);
          default:
            return bool(wanted >> (negative ? 3 : 8) & 1);
        }
      });
  hand.set(2, [](unsigned lane) { return lane; });
  hand.wave.set_exec(0xFF00);
  hand.execute("v_cmpx_lt_u32 vcc, v2, 10");
  EXPECT_EQ(hand.wave.vcc(), 0x300u) << "lanes 8 and 9";
  EXPECT_EQ(hand.wave.exec(), 0x300u);
}

/// The code that compilers generate for a / b, which depends on all rules of the three helpers.
TEST_F(VectorFloat, DivisionsOfF64AreRoundedRightly) {
  for (unsigned round = 0; round < 100; ++round) {
    for (unsigned lane = 0; lane < wave_lanes; ++lane) {
      put(2, lane, values.next<double>());
      put(4, lane, values.next<double>());
    }
    for (const char* text :
         {"v_div_scale_f64 v[6:7], s[20:21], v[4:5], v[4:5], v[2:3]", "v_rcp_f64 v[8:9], v[6:7]",
          "v_fma_f64 v[10:11], -v[6:7], v[8:9], 1.0", "v_fma_f64 v[8:9], v[8:9], v[10:11], v[8:9]",
          "v_fma_f64 v[10:11], -v[6:7], v[8:9], 1.0", "v_fma_f64 v[8:9], v[8:9], v[10:11], v[8:9]",
          "v_div_scale_f64 v[10:11], vcc, v[2:3], v[4:5], v[2:3]",
          "v_mul_f64 v[12:13], v[10:11], v[8:9]", "v_fma_f64 v[6:7], -v[6:7], v[12:13], v[10:11]",
          "v_div_fmas_f64 v[6:7], v[6:7], v[8:9], v[12:13]",
          "v_div_fixup_f64 v[6:7], v[6:7], v[4:5], v[2:3]"})
      hand.execute(text);
    for (unsigned lane = 0; lane < wave_lanes; ++lane) {
      const double a = taken<double>(2, lane), b = taken<double>(4, lane), quotient = a / b;
      const double got = taken<double>(6, lane);
      // Denormal quotients are rounded twice.
      if (std::fpclassify(quotient) == FP_SUBNORMAL)
        EXPECT_NEAR(std::ldexp(got, 1000), std::ldexp(quotient, 1000), std::ldexp(1.0, -74))
            << a << "/" << b;
      else
        EXPECT_TRUE(same_value(got, quotient)) << a << " / " << b << " is " << got;
    }
  }
}

}  // namespace
}  // namespace mi300x
