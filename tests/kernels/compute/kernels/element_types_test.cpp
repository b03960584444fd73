// The types of src/compute/kernels/element_types.h: every code of every narrow type against
// the definition of its format, and encoding against the nearest of all codes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "compute/kernels/conversions.h"
#include "core/data_type.h"

namespace assay {
namespace {

struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool infinities, fnuz;
};
constexpr Format f16 = {5, 10, 15, true, false}, bf16 = {8, 7, 127, true, false},
                 e4m3 = {4, 3, 7, false, false}, e5m2 = {5, 2, 15, true, false},
                 e4m3_fnuz = {4, 3, 8, false, true}, e5m2_fnuz = {5, 2, 16, false, true};

/// Decodes by the definition of the format, from sign, exponent and fraction.
double value_of(const Format& format, unsigned code) {
  const unsigned mantissas = 1u << format.mantissa_bits, exponents = 1u << format.exponent_bits;
  const unsigned fraction = code % mantissas, exponent = code / mantissas % exponents;
  const bool negative = code / mantissas / exponents;
  if (format.fnuz && negative && exponent == 0 && fraction == 0) return NAN;
  if (!format.fnuz && exponent == exponents - 1) {
    if (format.infinities) return fraction != 0 ? NAN : negative ? -HUGE_VAL : HUGE_VAL;
    if (fraction == mantissas - 1) return NAN;
  }
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - format.bias - format.mantissa_bits)
                    : std::ldexp(mantissas + fraction,
                                 static_cast<int>(exponent) - format.bias - format.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

template <typename T>
void expect_codes(const Format& format) {
  const unsigned codes = 1u << (1 + format.exponent_bits + format.mantissa_bits);
  for (unsigned code = 0; code < codes; ++code) {
    const T x{static_cast<decltype(T::bits)>(code)};
    const double expected = value_of(format, code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(x.decode())) << code;
      EXPECT_TRUE(std::isnan(T::encode(x.decode()).decode())) << code;
    } else {
      EXPECT_EQ(x.decode(), expected) << code;
      EXPECT_EQ(std::signbit(x.decode()), std::signbit(expected)) << code;
      if (std::isfinite(expected)) {
        EXPECT_EQ(T::encode(x.decode()).bits, code);
      }
    }
  }
}

TEST(ElementTypes, EveryCodeDecodesAsItsFormatDefines) {
  expect_codes<F16>(f16);
  expect_codes<Bf16>(bf16);
  expect_codes<E4m3>(e4m3);
  expect_codes<E5m2>(e5m2);
  expect_codes<E4m3Fnuz>(e4m3_fnuz);
  expect_codes<E5m2Fnuz>(e5m2_fnuz);
}

TEST(ElementTypes, KnownValues) {
  EXPECT_EQ(E4m3{0x7E}.decode(), 448);
  EXPECT_EQ(E5m2{0x7B}.decode(), 57344);
  EXPECT_EQ(E4m3Fnuz{0x7F}.decode(), 240);
  EXPECT_EQ(E5m2Fnuz{0x7F}.decode(), 57344);
  EXPECT_EQ(E4m3{0x38}.decode(), 1);
  EXPECT_EQ(E4m3Fnuz{0x38}.decode(), 0.5);  // the same byte has half the value
  EXPECT_EQ(F16::encode(1.0f).bits, 0x3C00);
  EXPECT_EQ(F16::encode(65519.0f).bits, 0x7BFF);
  EXPECT_EQ(F16::encode(65520.0f).bits, 0x7C00);  // infinity
  EXPECT_EQ(Bf16::encode(-2.0f).bits, 0xC000);
  EXPECT_EQ(Bf16::encode(3.4e38f).bits, 0x7F80);
  EXPECT_EQ(E4m3::encode(1e9f).bits, 0x7E);  // saturates
  EXPECT_EQ(E5m2::encode(-HUGE_VALF).bits, 0xFB);
  EXPECT_EQ(E4m3Fnuz::encode(-1e-9f).bits, 0);  // there is no negative zero
  EXPECT_EQ(E4m3::encode(-1e-9f).bits, 0x80);
}

/// The nearest of all codes; ties go to the even one, values beyond the largest to the largest.
template <typename T>
unsigned nearest(const Format& format, float x) {
  const unsigned half = 1u << (format.exponent_bits + format.mantissa_bits);
  unsigned best = 0;
  for (unsigned code = 0; code < half; ++code) {
    const double value = value_of(format, code);
    if (!std::isfinite(value)) continue;
    const double now = std::abs(value - std::abs(x)),
                 before = std::abs(value_of(format, best) - std::abs(x));
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  return best == 0 && format.fnuz ? 0 : best | (std::signbit(x) ? half : 0);
}

template <typename T>
void expect_nearest(const Format& format, float largest) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> exponent(-20, std::log2(largest));
  std::vector<float> values = {0.0f, -0.0f};
  for (int i = 0; i < 3000; ++i) {
    values.push_back(std::exp2(exponent(random)) * (i % 2 == 0 ? 1.0f : -1.0f));
  }
  const unsigned half = 1u << (format.exponent_bits + format.mantissa_bits);
  for (unsigned code = 0; code + 1 < half; ++code) {  // ties between neighbours
    const double tie = (value_of(format, code) + value_of(format, code + 1)) / 2;
    if (std::isfinite(tie)) values.push_back(static_cast<float>(tie));
  }
  for (const float x : values) {
    EXPECT_EQ(T::encode(x).bits, nearest<T>(format, x)) << x;
  }
}

TEST(ElementTypes, EncodingFindsTheNearestCode) {
  expect_nearest<E4m3>(e4m3, 447);
  expect_nearest<E5m2>(e5m2, 57000);
  expect_nearest<E4m3Fnuz>(e4m3_fnuz, 239);
  expect_nearest<E5m2Fnuz>(e5m2_fnuz, 57000);
}

template <typename T>
void expect_between_neighbours(float least, float most) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> exponent(std::log2(least), std::log2(most));
  for (int i = 0; i < 100000; ++i) {
    const float x = std::exp2(exponent(random));
    const T code = T::encode(x);
    const double error = std::abs(static_cast<double>(code.decode()) - x);
    using Bits = decltype(T::bits);
    const T above{static_cast<Bits>(code.bits + 1)}, below{static_cast<Bits>(code.bits - 1)};
    EXPECT_LE(error, std::abs(static_cast<double>(above.decode()) - x)) << x;
    EXPECT_LE(error, std::abs(static_cast<double>(below.decode()) - x)) << x;
  }
}

TEST(ElementTypes, WideTypesRoundToTheNearest) {
  expect_between_neighbours<F16>(1e-7f, 60000.0f);
  expect_between_neighbours<Bf16>(1e-30f, 1e30f);
  EXPECT_EQ(F16::encode(1.0f + 0x1p-11f).bits, 0x3C00);  // ties to even
  EXPECT_EQ(F16::encode(1.0f + 3 * 0x1p-11f).bits, 0x3C02);
  EXPECT_EQ(Bf16::encode(1.0f + 0x1p-8f).bits, 0x3F80);
  EXPECT_EQ(Bf16::encode(1.0f + 3 * 0x1p-8f).bits, 0x3F82);
}

TEST(ElementTypes, Integers) {
  EXPECT_EQ(encode<i8>(2.4f), 2);
  EXPECT_EQ(encode<i8>(-2.6f), -3);
  EXPECT_EQ(encode<i8>(300.0f), 127);
  EXPECT_EQ(encode<i8>(-300.0f), -127);
}

TEST(ElementTypes, NumbersAreThoseOfDataType) {
  EXPECT_EQ(int{F64}, static_cast<int>(DataType::f64));
  EXPECT_EQ(int{F32}, static_cast<int>(DataType::f32));
  EXPECT_EQ(int{TF32}, static_cast<int>(DataType::tf32));
  EXPECT_EQ(int{F16_}, static_cast<int>(DataType::f16));
  EXPECT_EQ(int{BF16}, static_cast<int>(DataType::bf16));
  EXPECT_EQ(int{E4M3}, static_cast<int>(DataType::e4m3));
  EXPECT_EQ(int{E5M2}, static_cast<int>(DataType::e5m2));
  EXPECT_EQ(int{E4M3_FNUZ}, static_cast<int>(DataType::e4m3_fnuz));
  EXPECT_EQ(int{E5M2_FNUZ}, static_cast<int>(DataType::e5m2_fnuz));
  EXPECT_EQ(int{I8}, static_cast<int>(DataType::i8));
  EXPECT_EQ(int{I32}, static_cast<int>(DataType::i32));
}

}  // namespace
}  // namespace assay
