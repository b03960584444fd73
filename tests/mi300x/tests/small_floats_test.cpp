// Narrow floats: every code, widened and narrowed, against the definitions of the formats.
#include "emulator/small_floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace mi300x {
namespace {

/// Returns a code's value by the definition of its format, without using a float's bits.
template <class Format>
double value_of(u32 code) {
  const double sign = code & Format::sign ? -1 : 1;
  const u32 magnitude = code & (Format::sign - 1);
  const int exponent = int(magnitude >> Format::fraction_bits);
  const double fraction =
      std::ldexp(magnitude & ((1u << Format::fraction_bits) - 1), -int(Format::fraction_bits));
  if (Format::encoding == Encoding::fnuz && code == Format::sign) return NAN;
  if (Format::encoding == Encoding::one_nan && magnitude == Format::sign - 1) return NAN;
  if (Format::encoding == Encoding::ieee && u32(exponent) == Format::top_exponent)
    return fraction == 0 ? sign * HUGE_VAL : NAN;
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - Format::bias)
                               : std::ldexp(1 + fraction, exponent - Format::bias));
}

template <class Format>
void every_code_widens() {
  for (u32 code = 0; code < 2 * Format::sign; ++code) {
    const double expected = value_of<Format>(code);
    const float got = widen<Format>(code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << code;
    } else {
      EXPECT_EQ(got, expected) << code;
      EXPECT_EQ(std::signbit(got), std::signbit(expected)) << code;
    }
  }
}

TEST(SmallFloats, EveryCodeWidens) {
  every_code_widens<F16>();
  every_code_widens<BF16>();
  every_code_widens<Fp8>();
  every_code_widens<Bf8>();
  every_code_widens<OcpFp8>();
  every_code_widens<OcpBf8>();
  for (u32 code = 0; code < 65536; ++code)
    EXPECT_EQ(std::bit_cast<u32>(f32_from_f16(u16(code))), std::bit_cast<u32>(widen<F16>(code)))
        << code;
}

/// Lists the positive finite codes by value, for looking up the nearest one.
template <class Format>
std::map<double, u32> positive_codes() {
  std::map<double, u32> codes;
  for (u32 code = 0; code <= Format::largest; ++code) codes[value_of<Format>(code)] = code;
  return codes;
}

/// Returns the nearest code, the even one in a tie; values nearer to a code beyond the largest
/// overflow.
template <class Format>
u32 nearest(const std::map<double, u32>& codes, double x, bool saturate) {
  const u32 sign = std::signbit(x) ? Format::sign : 0;
  const double magnitude = std::fabs(x);
  const auto above = codes.lower_bound(magnitude);
  const double largest = codes.rbegin()->first;
  u32 code;
  if (above == codes.end()) {
    const double step = largest - std::prev(codes.end(), 2)->first;
    // The code after the largest would be even if the largest is odd.
    const bool fits = magnitude < largest + step / 2 ||
                      (magnitude == largest + step / 2 && Format::largest % 2 == 0);
    if (!fits && !saturate) {
      if (Format::encoding == Encoding::ieee) return sign | Format::infinity;
      return Format::encoding == Encoding::fnuz ? Format::sign : sign | (Format::sign - 1);
    }
    code = Format::largest;
  } else if (above->first == magnitude) {
    code = above->second;
  } else {
    const auto below = std::prev(above);
    const double down = magnitude - below->first, up = above->first - magnitude;
    code = down < up || (down == up && below->second % 2 == 0) ? below->second : above->second;
  }
  if (Format::encoding == Encoding::fnuz && code == 0) return 0;
  return sign | code;
}

template <class Format>
void narrows_to_nearest() {
  const auto codes = positive_codes<Format>();
  const auto check = [&](float x) {
    for (const bool saturate : {false, true})
      for (const float signed_x : {x, -x})
        ASSERT_EQ(narrow<Format>(signed_x, Rounding::nearest_even, saturate),
                  nearest<Format>(codes, signed_x, saturate))
            << signed_x << " saturate " << saturate << " bits " << Format::bits;
  };
  // These are every value, every middle between two, and their neighbours.
  double previous = 0;
  for (const auto& [value, code] : codes) {
    const float middle = float((value + previous) / 2);
    for (const float x : {float(value), middle}) {
      check(x);
      check(std::nextafter(x, HUGE_VALF));
      check(std::fabs(std::nextafter(x, -1.0f)));
    }
    previous = value;
  }
  std::mt19937 random(1);
  for (int n = 0; n < 20000; ++n) {
    const float x = std::bit_cast<float>(u32(random()) & 0x7FFFFFFF);
    if (std::isfinite(x)) check(x);
  }
}

TEST(SmallFloats, NarrowsToNearestEven) {
  narrows_to_nearest<F16>();
  narrows_to_nearest<BF16>();
  narrows_to_nearest<Fp8>();
  narrows_to_nearest<Bf8>();
  narrows_to_nearest<OcpFp8>();
  narrows_to_nearest<OcpBf8>();
}

TEST(SmallFloats, OverflowInfinityAndNan) {
  EXPECT_EQ(fp8_from_f32(240), 0x7F);
  EXPECT_EQ(fp8_from_f32(247.9f), 0x7F);
  EXPECT_EQ(fp8_from_f32(248), 0x80);  // the even neighbour is 256, which does not exist
  EXPECT_EQ(fp8_from_f32(1e9f), 0x80);
  EXPECT_EQ(fp8_from_f32(-1e9f, true), 0xFF);
  EXPECT_EQ(bf8_from_f32(57344), 0x7F);
  EXPECT_EQ(bf8_from_f32(65536), 0x80);
  EXPECT_EQ(bf8_from_f32(65536, true), 0x7F);
  for (const bool saturate : {false, true}) {
    EXPECT_EQ(fp8_from_f32(INFINITY, saturate), 0x80);
    EXPECT_EQ(bf8_from_f32(-INFINITY, saturate), 0x80);
    EXPECT_EQ(fp8_from_f32(NAN, saturate), 0x80);
    EXPECT_EQ(f16_from_f32(-INFINITY, Rounding::nearest_even, saturate), 0xFC00);
  }
  EXPECT_EQ(fp8_from_f32(-0.0f), 0);
  EXPECT_EQ(fp8_from_f32(-1e-9f), 0);
  EXPECT_EQ(ocp_fp8_from_f32(-0.0f), 0x80);
  EXPECT_EQ(ocp_fp8_from_f32(448), 0x7E);
  EXPECT_EQ(ocp_fp8_from_f32(1e9f), 0x7F);
  EXPECT_EQ(ocp_fp8_from_f32(1e9f, true), 0x7E);
  EXPECT_EQ(f16_from_f32(65520), 0x7C00);
  EXPECT_EQ(f16_from_f32(65520, Rounding::zero), 0x7BFF);
  EXPECT_EQ(f16_from_f32(65520, Rounding::nearest_even, true), 0x7BFF);
  EXPECT_EQ(f16_from_f32(1.0001f, Rounding::up), 0x3C01);
  EXPECT_EQ(f16_from_f32(1.0009f, Rounding::down), 0x3C00);
  EXPECT_EQ(f16_from_f32(-1.0001f, Rounding::down), 0xBC01);
  EXPECT_EQ(f16_from_f32(-1e-9f, Rounding::down), 0x8001);
  EXPECT_EQ(bf16_from_f32(std::bit_cast<float>(0x3F808000u)), 0x3F80);  // a tie goes to even
  EXPECT_EQ(bf16_from_f32(std::bit_cast<float>(0x7F800001u)), 0x7FC0);
}

/// A code has half the value in FNUZ that it has in OCP's format.
TEST(SmallFloats, OcpIsNotFnuz) {
  for (u32 code = 1; code < 0x7F; ++code)
    EXPECT_EQ(f32_from_ocp_fp8(u8(code)), 2 * f32_from_fp8(u8(code))) << code;
}

/// Over all values of the relevant random bits, the mean is the value itself.
TEST(SmallFloats, StochasticRoundingHasTheRightMean) {
  for (const float x : {1.03f, 3.9f, 0.01f, -17.3f, 200.0f}) {
    double sum = 0;
    constexpr u32 draws = 1 << 12;
    for (u32 n = 0; n < draws; ++n)
      sum += f32_from_fp8(fp8_from_f32_stochastic(x, n << 20 | 1 << 19));
    EXPECT_NEAR(sum / draws, x, std::fabs(x) * 0x1p-12) << x;
  }
  EXPECT_EQ(fp8_from_f32_stochastic(1.0f, 0xFFFFFFFF), fp8_from_f32(1.0f));
  EXPECT_EQ(fp8_from_f32_stochastic(1.1f, 0), fp8_from_f32(1.0f));
  EXPECT_EQ(bf8_from_f32_stochastic(1.1f, 0xFFFFFFFF), bf8_from_f32(1.25f));
  EXPECT_EQ(fp8_from_f32_stochastic(250.0f, 0xFFFFFFFF), 0x80);
  EXPECT_EQ(fp8_from_f32_stochastic(250.0f, 0xFFFFFFFF, true), 0x7F);
}

}  // namespace
}  // namespace mi300x
