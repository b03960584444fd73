// Integer vector instructions compared with plain arithmetic in wider types.
#include "wave_fixture.h"

namespace mi300x {
namespace {

using VectorInteger = VectorTest;

TEST_F(VectorInteger, SumsWrap) {
  check(
      "v_add_u32", +[](u32 a, u32 b) { return u32((u64{a} + b) % (u64{1} << 32)); });
  check(
      "v_sub_u32", +[](u32 a, u32 b) { return u32(u64{a} + (u64{1} << 32) - b); });
  check(
      "v_subrev_u32", +[](u32 a, u32 b) { return u32(u64{b} + (u64{1} << 32) - a); });
  check(
      "v_add3_u32", +[](u32 a, u32 b, u32 c) { return u32(u64{a} + b + c); });
  check(
      "v_lshl_add_u32", +[](u32 a, u32 b, u32 c) { return u32((u64{a} << (b % 32)) + c); });
  check(
      "v_add_lshl_u32", +[](u32 a, u32 b, u32 c) { return u32((u64{a} + b) << (c % 32)); });
  check(
      "v_lshl_add_u64", +[](u64 a, u32 b, u64 c) { return (a << (b % 8)) + c; });
  check(
      "v_xad_u32", +[](u32 a, u32 b, u32 c) { return u32(u64{a ^ b} + c); });
}

TEST_F(VectorInteger, ClampSaturates) {
  hand.set(2, [](unsigned lane) { return 0xFFFFFFF0u + lane % 16; });
  hand.set(4, [](unsigned lane) { return lane; });
  hand.execute("v_add_u32_e64 v10, v2, v4 clamp");
  hand.execute("v_sub_u32_e64 v11, v4, v2 clamp");
  hand.execute("v_sub_i32 v12, v4, 0x80000001 clamp");
  for (unsigned lane = 0; lane < wave_lanes; ++lane) {
    EXPECT_EQ(hand.get(10, lane), std::min<u64>(u64{hand.get(2, lane)} + lane, 0xFFFFFFFF));
    EXPECT_EQ(hand.get(11, lane), 0u);
    EXPECT_EQ(hand.get(12, lane), 0x7FFFFFFFu);
  }
  expect_fault([&] { hand.execute("v_mul_lo_u32 v10, v2, v4 clamp"); },
               FaultKind::unknown_instruction, "clamp");
}

TEST_F(VectorInteger, Products) {
  check(
      "v_mul_lo_u32", +[](u32 a, u32 b) { return u32(u64{a} * b); });
  check(
      "v_mul_hi_u32", +[](u32 a, u32 b) { return u32((u64{a} * b) >> 32); });
  check(
      "v_mul_hi_i32", +[](i32 a, i32 b) { return i32((i64{a} * b) >> 32); });
  check(
      "v_mul_u32_u24", +[](u32 a, u32 b) { return u32(u64{a % (1u << 24)} * (b % (1u << 24))); });
  check(
      "v_mad_u32_u24",
      +[](u32 a, u32 b, u32 c) { return u32(u64{a % (1u << 24)} * (b % (1u << 24)) + c); });
  check(
      "v_mul_i32_i24", +[](i32 a, i32 b) { return i32((i64{a << 8 >> 8}) * (b << 8 >> 8)); });
}

TEST_F(VectorInteger, LogicAndShifts) {
  check(
      "v_and_or_b32", +[](u32 a, u32 b, u32 c) { return (a & b) | c; });
  check(
      "v_lshlrev_b32", +[](u32 a, u32 b) { return u32(u64{b} << (a % 32)); });
  check(
      "v_lshrrev_b32", +[](u32 a, u32 b) { return b >> (a % 32); });
  check(
      "v_ashrrev_i32", +[](u32 a, i32 b) { return i32(i64{b} >> (a % 32)); });
  check(
      "v_lshlrev_b64", +[](u32 a, u64 b) { return b << (a % 64); });
  check(
      "v_ashrrev_i64", +[](u32 a, i64 b) { return b >> (a % 64); });
  check(
      "v_bfi_b32", +[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); });
  check(
      "v_bfe_u32",
      +[](u32 a, u32 b, u32 c) { return u32(u64{a} >> (b % 32) & ((u64{1} << (c % 32)) - 1)); });
  check(
      "v_bfe_i32", +[](i32 a, u32 b, u32 c) {
        const unsigned width = c % 32;
        if (width == 0) return 0;
        const i64 x = i64{a} >> (b % 32) & ((i64{1} << width) - 1);
        return i32(x >> (width - 1) & 1 ? x - (i64{1} << width) : x);
      });
  check(
      "v_alignbit_b32", +[](u32 a, u32 b, u32 c) { return u32((u64{a} << 32 | b) >> (c % 32)); });
  check(
      "v_ffbh_u32", +[](u32 a) {
        for (u32 i = 0; i < 32; ++i)
          if (a >> (31 - i) & 1) return i;
        return ~u32{0};
      });
  check(
      "v_ffbl_b32", +[](u32 a) {
        for (u32 i = 0; i < 32; ++i)
          if (a >> i & 1) return i;
        return ~u32{0};
      });
  check(
      "v_bfrev_b32", +[](u32 a) {
        u32 r = 0;
        for (u32 i = 0; i < 32; ++i) r = r << 1 | (a >> i & 1);
        return r;
      });
  check(
      "v_med3_i32", +[](i32 a, i32 b, i32 c) {
        i32 x[] = {a, b, c};
        std::sort(x, x + 3);
        return x[1];
      });
  check(
      "v_min3_u32", +[](u32 a, u32 b, u32 c) {
        return std::min({a, b, c});
      });
}

TEST_F(VectorInteger, CarriesGoInAndOut) {
  for (unsigned round = 0; round < 60; ++round) {
    hand.set(2, [&](unsigned) { return values.next<u32>(); });
    hand.set(4, [&](unsigned) { return values.next<u32>(); });
    const u64 exec = values.mask(), carry = values.bits();
    hand.wave.set_exec(exec);
    const auto expect = [&](const std::string& text, auto wide) {
      hand.wave.set_vcc(carry);
      hand.execute(text);
      for (unsigned lane = 0; lane < wave_lanes; ++lane) {
        if (!(exec >> lane & 1)) {
          EXPECT_EQ(hand.wave.scalar64(20) >> lane & 1, 0u) << text;
          continue;
        }
        const i64 exact = wide(hand.get(2, lane), hand.get(4, lane), carry >> lane & 1);
        ASSERT_EQ(hand.get(10, lane), u32(exact)) << text << " lane " << lane;
        ASSERT_EQ(hand.wave.scalar64(20) >> lane & 1, u64(exact) >> 32 & 1) << text << lane;
      }
    };
    expect("v_add_co_u32 v10, s[20:21], v2, v4", [](i64 a, i64 b, i64) { return a + b; });
    expect("v_sub_co_u32 v10, s[20:21], v2, v4", [](i64 a, i64 b, i64) { return a - b; });
    expect("v_subrev_co_u32 v10, s[20:21], v2, v4", [](i64 a, i64 b, i64) { return b - a; });
    expect("v_addc_co_u32 v10, s[20:21], v2, v4, vcc",
           [](i64 a, i64 b, i64 c) { return a + b + c; });
    expect("v_subb_co_u32 v10, s[20:21], v2, v4, vcc",
           [](i64 a, i64 b, i64 c) { return a - b - c; });
    expect("v_subbrev_co_u32 v10, s[20:21], v2, v4, vcc",
           [](i64 a, i64 b, i64 c) { return b - a - c; });
  }
}

TEST_F(VectorInteger, WideMultiplyAdds) {
  for (unsigned round = 0; round < 60; ++round) {
    hand.set(2, [&](unsigned) { return values.next<u32>(); });
    hand.set(4, [&](unsigned) { return values.next<u32>(); });
    hand.set64(6, [&](unsigned) { return values.next<u64>(); });
    hand.execute("v_mad_u64_u32 v[10:11], s[20:21], v2, v4, v[6:7]");
    hand.execute("v_mad_i64_i32 v[12:13], s[22:23], v2, v4, v[6:7]");
    for (unsigned lane = 0; lane < wave_lanes; ++lane) {
      const u32 a = hand.get(2, lane), b = hand.get(4, lane);
      using Wide = unsigned __int128;
      const Wide sum = Wide{a} * b + hand.get64(6, lane);
      ASSERT_EQ(hand.get64(10, lane), u64(sum));
      ASSERT_EQ(hand.wave.scalar64(20) >> lane & 1, u64(sum >> 64));
      const __int128 signed_sum = __int128{i32(a)} * i32(b) + i64(hand.get64(6, lane));
      ASSERT_EQ(hand.get64(12, lane), u64(signed_sum));
      ASSERT_EQ(hand.wave.scalar64(22) >> lane & 1, u64(Wide(signed_sum) >> 64 & 1));
    }
  }
}

}  // namespace
}  // namespace mi300x
