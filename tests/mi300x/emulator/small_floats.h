// Narrow floats as gfx942 and gfx90a convert them: f16, bf16, fp8 and bf8 (FNUZ on gfx942; also
// OCP's of gfx950, for tests that show the difference), and xf32 as its matrix instructions read
// it.
#pragma once

#include <bit>
#include <cmath>

#include "emulator/instruction.h"

namespace mi300x {

/// How a format uses the codes at its upper end.
enum class Encoding : u8 {
  ieee,     ///< the top exponent holds infinity and NaN
  one_nan,  ///< OCP e4m3: no infinity, NaN is the code of all ones
  fnuz,     ///< no infinity, no -0: the code of -0 is the only NaN
};

/// A narrow format: its fields and the codes at its ends.
template <unsigned exponent_width, unsigned fraction_width, int bias_, Encoding encoding_>
struct FloatFormat {
  static constexpr unsigned fraction_bits = fraction_width;
  static constexpr unsigned bits = 1 + exponent_width + fraction_width;
  static constexpr int bias = bias_;
  static constexpr Encoding encoding = encoding_;
  static constexpr u32 sign = u32{1} << (bits - 1);
  static constexpr u32 top_exponent = (u32{1} << exponent_width) - 1;
  static constexpr u32 infinity = top_exponent << fraction_width;  ///< of ieee
  static constexpr u32 largest = encoding == Encoding::ieee      ? infinity - 1
                                 : encoding == Encoding::one_nan ? sign - 2
                                                                 : sign - 1;
};
using F16 = FloatFormat<5, 10, 15, Encoding::ieee>;
using BF16 = FloatFormat<8, 7, 127, Encoding::ieee>;
using Fp8 = FloatFormat<4, 3, 8, Encoding::fnuz>;
using Bf8 = FloatFormat<5, 2, 16, Encoding::fnuz>;
using OcpFp8 = FloatFormat<4, 3, 7, Encoding::one_nan>;
using OcpBf8 = FloatFormat<5, 2, 15, Encoding::ieee>;

// ---- To float: always exact ----

template <class Format>
inline float widen(u32 code) {
  const u32 sign = (code & Format::sign) << (32 - Format::bits);
  const u32 magnitude = code & (Format::sign - 1);
  if constexpr (Format::encoding == Encoding::fnuz)
    if (code == Format::sign) return std::bit_cast<float>(u32{0x7FC00000});
  if constexpr (Format::encoding == Encoding::one_nan)
    if (magnitude == Format::sign - 1) return std::bit_cast<float>(sign | 0x7FC00000);
  const u32 exponent = magnitude >> Format::fraction_bits;
  const u32 fraction = magnitude << (23 - Format::fraction_bits) & 0x7FFFFF;
  if constexpr (Format::encoding == Encoding::ieee)
    if (exponent == Format::top_exponent) {  // a NaN comes out quiet
      const u32 quiet = fraction ? 0x400000 : 0;
      return std::bit_cast<float>(sign | 0x7F800000 | fraction | quiet);
    }
  if constexpr (Format::bias == 127) return std::bit_cast<float>(sign | exponent << 23 | fraction);
  if (exponent == 0) {
    const float value =
        static_cast<float>(magnitude) *
        std::bit_cast<float>(u32(127 + 1 - Format::bias - int(Format::fraction_bits)) << 23);
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 127 - Format::bias) << 23 | fraction);
}

// ---- From float ----

/// How a conversion rounds. The hardware rounds f16 as MODE.round specifies for f16 and f64.
enum class Rounding : u8 { nearest_even, up, down, zero };

/// Overflow: with `saturate` (MODE.FP16_OVFL) it gives the largest finite value. Otherwise it gives
/// infinity, or NaN if the format has none; runtimes therefore clamp to the largest value before
/// v_cvt_pk_fp8_f32. An infinite input stays infinite (NaN if the format has none).
template <class Format>
inline u32 overflowed(u32 sign, bool saturate) {
  if (saturate) return sign | Format::largest;
  if constexpr (Format::encoding == Encoding::ieee) return sign | Format::infinity;
  if constexpr (Format::encoding == Encoding::one_nan) return sign | (Format::sign - 1);
  return Format::sign;
}

template <class Format>
inline u32 not_a_number(u32 value) {
  const u32 sign = value >> 31 ? Format::sign : 0;
  if constexpr (Format::encoding == Encoding::fnuz) return Format::sign;
  if constexpr (Format::encoding == Encoding::one_nan) return sign | (Format::sign - 1);
  const u32 payload = (value & 0x7FFFFF) >> (23 - Format::fraction_bits);
  return sign | Format::infinity | u32{1} << (Format::fraction_bits - 1) | payload;
}

/// Rounds once; values below the least normal value become denormals.
template <class Format>
inline u32 narrow(float x, Rounding rounding = Rounding::nearest_even, bool saturate = false) {
  const u32 value = std::bit_cast<u32>(x), magnitude = value & 0x7FFFFFFF;
  const u32 sign = value >> 31 ? Format::sign : 0;
  if (magnitude > 0x7F800000) return not_a_number<Format>(value);
  if (magnitude == 0x7F800000) return overflowed<Format>(sign, false);

  // The fraction of 23 bits with its leading one, and how many of these bits the format cannot
  // hold: below its least normal exponent one more for each power of two.
  const int float_exponent = magnitude >> 23 ? int(magnitude >> 23) : 1;
  const u64 significand = (magnitude & 0x7FFFFF) | (magnitude >> 23 ? 0x800000 : 0);
  const int exponent = float_exponent - 127 + Format::bias;
  int drop = int(23 - Format::fraction_bits) + (exponent < 1 ? 1 - exponent : 0);
  if (drop > 40) drop = 40;
  const u64 half = drop ? u64{1} << (drop - 1) : 0, all = (u64{1} << drop) - 1;
  u64 kept = significand >> drop;
  const u64 dropped = significand & all;
  switch (rounding) {
    case Rounding::nearest_even:
      kept += drop && (dropped > half || (dropped == half && (kept & 1)));
      break;
    case Rounding::up:
      kept += dropped && !sign;
      break;
    case Rounding::down:
      kept += dropped && sign;
      break;
    case Rounding::zero:
      break;
  }
  // A carry out of the fraction increments the exponent automatically.
  const u64 code = kept + (exponent > 1 ? u64(exponent - 1) << Format::fraction_bits : 0);
  if (code > Format::largest) {
    const bool stays = rounding == Rounding::zero || (rounding == Rounding::up && sign) ||
                       (rounding == Rounding::down && !sign);
    return overflowed<Format>(sign, saturate || stays);
  }
  if (Format::encoding == Encoding::fnuz && code == 0) return 0;
  return sign | u32(code);
}

/// Stochastic rounding: the highest bits of `random`, as many as the format drops of a 23-bit
/// fraction, are added to the fraction before it is cut (v_cvt_sr_fp8_f32 adds S1[31:12]). For a
/// result below the least normal value the significand is aligned first, and the bits that this
/// drops are lost.
template <class Format>
inline u32 narrow_stochastic(float x, u32 random, bool saturate = false) {
  const u32 value = std::bit_cast<u32>(x), magnitude = value & 0x7FFFFFFF;
  const u32 sign = value >> 31 ? Format::sign : 0;
  if (magnitude > 0x7F800000) return not_a_number<Format>(value);
  if (magnitude == 0x7F800000) return overflowed<Format>(sign, false);
  const int float_exponent = magnitude >> 23 ? int(magnitude >> 23) : 1;
  u32 significand = (magnitude & 0x7FFFFF) | (magnitude >> 23 ? 0x800000 : 0);
  const int exponent = float_exponent - 127 + Format::bias;
  if (exponent < 1) significand = 1 - exponent < 32 ? significand >> (1 - exponent) : 0;
  constexpr unsigned drop = 23 - Format::fraction_bits;
  const u32 kept = (significand + (random >> (32 - drop))) >> drop;
  const u32 code = kept + (exponent > 1 ? u32(exponent - 1) << Format::fraction_bits : 0);
  if (code > Format::largest) return overflowed<Format>(sign, saturate);
  if (Format::encoding == Encoding::fnuz && code == 0) return 0;
  return sign | code;
}

// ---- By name ----

inline float f32_from_f16(u16 code) {
  return static_cast<float>(std::bit_cast<_Float16>(code));
}
inline float f32_from_bf16(u16 code) {
  return std::bit_cast<float>(u32{code} << 16);
}
inline float f32_from_fp8(u8 code) {
  return widen<Fp8>(code);
}
inline float f32_from_bf8(u8 code) {
  return widen<Bf8>(code);
}
inline float f32_from_ocp_fp8(u8 code) {
  return widen<OcpFp8>(code);
}
inline float f32_from_ocp_bf8(u8 code) {
  return widen<OcpBf8>(code);
}

inline u16 f16_from_f32(float x, Rounding rounding = Rounding::nearest_even,
                        bool saturate = false) {
  return u16(narrow<F16>(x, rounding, saturate));
}
inline u16 bf16_from_f32(float x) {
  return u16(narrow<BF16>(x));
}
inline u8 fp8_from_f32(float x, bool saturate = false) {
  return u8(narrow<Fp8>(x, Rounding::nearest_even, saturate));
}
inline u8 bf8_from_f32(float x, bool saturate = false) {
  return u8(narrow<Bf8>(x, Rounding::nearest_even, saturate));
}
inline u8 ocp_fp8_from_f32(float x, bool saturate = false) {
  return u8(narrow<OcpFp8>(x, Rounding::nearest_even, saturate));
}
inline u8 ocp_bf8_from_f32(float x, bool saturate = false) {
  return u8(narrow<OcpBf8>(x, Rounding::nearest_even, saturate));
}
inline u8 fp8_from_f32_stochastic(float x, u32 random, bool saturate = false) {
  return u8(narrow_stochastic<Fp8>(x, random, saturate));
}
inline u8 bf8_from_f32_stochastic(float x, u32 random, bool saturate = false) {
  return u8(narrow_stochastic<Bf8>(x, random, saturate));
}

}  // namespace mi300x
