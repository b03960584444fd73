// Element types narrower than float, defined by bit operations, so that no vendor header is needed
// and all devices round alike. Encoding rounds to nearest, ties to even. Kernels convert with
// conversions.h, which gives the same bits with the chip's own instructions.
#pragma once

#include "dialect.h"

namespace {

/// Returns the bits of `x` as another type of the same size. NVRTC has neither bit_cast nor the
/// memcpy builtin.
template <typename To, typename From>
DEVICE To bits_as(From x) {
  union {
    From from;
    To to;
  } both;
  both.from = x;
  return both.to;
}
DEVICE u32 bits_of(float x) {
  return bits_as<u32>(x);
}
DEVICE float float_of(u32 bits) {
  return bits_as<float>(bits);
}

/// How a format uses its codes of largest magnitude. To saturate means that numbers beyond the
/// largest finite one, and infinities, become that number.
enum Specials {
  IEEE,         // infinities and NaNs in the last exponent; overflow gives infinity
  IEEE_FINITE,  // as IEEE, but encoding saturates: fp8 e5m2
  ONE_NAN,      // no infinity, NaN is all ones; encoding saturates: fp8 e4m3
  FNUZ,         // no infinity, no negative zero: its code is the only NaN; encoding saturates
};

/// 1 sign bit, E exponent bits, M mantissa bits.
template <typename Bits, int E, int M, int BIAS, Specials SPECIALS>
struct SmallFloat {
  Bits bits;

  // Codes, without the sign.
  static constexpr u32 sign_bit = 1u << (E + M);
  static constexpr u32 infinity = ((1u << E) - 1) << M;  // IEEE: all exponent bits
  static constexpr u32 nan = SPECIALS == FNUZ      ? sign_bit
                             : SPECIALS == ONE_NAN ? sign_bit - 1
                                                   : infinity | (1u << (M - 1));
  static constexpr u32 largest = SPECIALS == FNUZ      ? sign_bit - 1
                                 : SPECIALS == ONE_NAN ? sign_bit - 2
                                                       : infinity - 1;

  static DEVICE SmallFloat encode(float x) {
    return {static_cast<Bits>(encode_words<float>(bits_of(x)))};
  }
  DEVICE float decode() const { return float_of(decode_words<float>(u32{bits})); }

  /// Returns what encode() makes of the NaN `x`. decode_nan() returns what decode() makes of this
  /// NaN.
  static DEVICE SmallFloat encode_nan(float x) {
    return {static_cast<Bits>(SPECIALS == FNUZ ? nan : (bits_of(x) >> 31) << (E + M) | nan)};
  }
  DEVICE float decode_nan() const {
    return float_of((SPECIALS != FNUZ && bits >= sign_bit ? 0x80000000u : 0) | float_nan);
  }

  /// encode() and decode() on the bits of numbers. Word is u32 and Float is float, or on a CPU both
  /// are vectors; therefore there are no branches.
  template <typename Float, typename Word>
  static DEVICE Word encode_words(Word x) {
    const Word sign = (x >> 31) << (E + M), magnitude = x & 0x7FFFFFFFu;
    constexpr int shift = 23 - M;
    const Word half = ((magnitude >> shift) & 1u) + ((1u << (shift - 1)) - 1);
    Word code = ((magnitude + half) >> shift) - (static_cast<u32>(127 - BIAS) << M);
    if constexpr (BIAS != 127) {
      // Adding a number whose last bit equals the format's smallest number rounds to that
      // precision.
      constexpr u32 least_normal = static_cast<u32>(128 - BIAS) << 23;  // as float bits
      constexpr u32 magic = static_cast<u32>(127 + 1 - BIAS - M + 23) << 23;
      const Word rounded = bits_as<Word>(bits_as<Float>(magnitude) + float_of(magic)) - magic;
      code = magnitude < least_normal ? rounded : code;
    }
    code = code > largest ? Word{} + (SPECIALS == IEEE ? infinity : largest) : code;
    code = magnitude > float_infinity ? Word{} + nan : code;
    if constexpr (SPECIALS != FNUZ) return sign | code;
    return code == 0u ? code : code == nan ? code : sign | code;
  }
  template <typename Float, typename Word>
  static DEVICE Word decode_words(Word x) {
    const Word sign = (x & sign_bit) << (31 - E - M), code = x & (sign_bit - 1);
    Word magnitude = (code << (23 - M)) + (static_cast<u32>(127 - BIAS) << 23);
    if constexpr (BIAS != 127) {
      // Subnormal fractions are decoded as one + fraction, where `one` is the least normal number;
      // then `one` is subtracted.
      constexpr u32 one = static_cast<u32>(128 - BIAS) << 23;
      const Word subnormal =
          bits_as<Word>(bits_as<Float>((code << (23 - M)) + one) - float_of(one));
      magnitude = code < (1u << M) ? subnormal : magnitude;
    }
    if constexpr (SPECIALS == FNUZ) return x == nan ? Word{} + float_nan : sign | magnitude;
    if constexpr (SPECIALS == ONE_NAN) {
      magnitude = code == nan ? Word{} + float_nan : magnitude;
    } else {
      magnitude = code >= infinity ? Word{} + float_infinity : magnitude;
      magnitude = code > infinity ? Word{} + float_nan : magnitude;
    }
    return sign | magnitude;
  }

 private:
  static constexpr u32 float_infinity = 0x7F800000u, float_nan = 0x7FC00000u;
};

using F16 = SmallFloat<u16, 5, 10, 15, IEEE>;
using Bf16 = SmallFloat<u16, 8, 7, 127, IEEE>;
using E4m3 = SmallFloat<u8, 4, 3, 7, ONE_NAN>;
using E5m2 = SmallFloat<u8, 5, 2, 15, IEEE_FINITE>;
using E4m3Fnuz = SmallFloat<u8, 4, 3, 8, FNUZ>;
using E5m2Fnuz = SmallFloat<u8, 5, 2, 16, FNUZ>;

}  // namespace
