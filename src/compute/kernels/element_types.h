// Element types narrower than float, converted with bit operations, so that no vendor header is
// needed and all devices round alike. Encoding rounds to nearest, ties to even.
#pragma once

#include "prelude.h"

namespace {

union FloatBits {  // NVRTC has neither bit_cast nor the memcpy builtin
  float value;
  u32 bits;
};
DEVICE u32 bits_of(float x) {
  FloatBits both;
  both.value = x;
  return both.bits;
}
DEVICE float float_of(u32 bits) {
  FloatBits both;
  both.bits = bits;
  return both.value;
}

/// How a format uses its codes of largest magnitude.
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

  static constexpr u32 sign_bit = 1u << (E + M);
  static constexpr u32 infinity = ((1u << E) - 1) << M;  // IEEE: all exponent bits
  static constexpr u32 nan = SPECIALS == FNUZ      ? sign_bit
                             : SPECIALS == ONE_NAN ? sign_bit - 1
                                                   : infinity | (1u << (M - 1));
  static constexpr u32 largest = SPECIALS == FNUZ      ? sign_bit - 1
                                 : SPECIALS == ONE_NAN ? sign_bit - 2
                                                       : infinity - 1;

  static DEVICE SmallFloat encode(float x) {
    const u32 all = bits_of(x), sign = all >> 31 ? sign_bit : 0, magnitude = all & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return {static_cast<Bits>(SPECIALS == FNUZ ? nan : sign | nan)};
    constexpr u32 least_normal = static_cast<u32>(128 - BIAS) << 23;  // as float bits
    u32 code;
    if (BIAS != 127 && magnitude < least_normal) {
      // Adding a number whose last bit equals the format's smallest value rounds to that precision.
      constexpr u32 magic = static_cast<u32>(127 + 1 - BIAS - M + 23) << 23;
      code = bits_of(float_of(magnitude) + float_of(magic)) - magic;
    } else {
      constexpr int shift = 23 - M;
      const u32 half = (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
      code = ((magnitude + half) >> shift) - (static_cast<u32>(127 - BIAS) << M);
    }
    if (code > largest) code = SPECIALS == IEEE ? infinity : largest;
    if (SPECIALS == FNUZ && code == 0) return {0};
    return {static_cast<Bits>(sign | code)};
  }

  DEVICE float decode() const {
    const u32 code = bits & (sign_bit - 1), sign = bits & sign_bit ? 0x80000000u : 0;
    if (SPECIALS == FNUZ && bits == nan) return float_of(0x7FC00000u);
    if (SPECIALS == ONE_NAN && code == nan) return float_of(sign | 0x7FC00000u);
    if ((SPECIALS == IEEE || SPECIALS == IEEE_FINITE) && code >= infinity) {
      return float_of(sign | (code == infinity ? 0x7F800000u : 0x7FC00000u));
    }
    if (BIAS == 127) return float_of(sign | (code << (23 - M)));  // same exponents as float
    if (code < (1u << M)) {
      const float magnitude =
          static_cast<float>(code) * float_of(static_cast<u32>(127 + 1 - BIAS - M) << 23);
      return sign ? -magnitude : magnitude;
    }
    return float_of(sign | ((code << (23 - M)) + (static_cast<u32>(127 - BIAS) << 23)));
  }
};

using F16 = SmallFloat<u16, 5, 10, 15, IEEE>;
using Bf16 = SmallFloat<u16, 8, 7, 127, IEEE>;
using E4m3 = SmallFloat<u8, 4, 3, 7, ONE_NAN>;
using E5m2 = SmallFloat<u8, 5, 2, 15, IEEE_FINITE>;
using E4m3Fnuz = SmallFloat<u8, 4, 3, 8, FNUZ>;
using E5m2Fnuz = SmallFloat<u8, 5, 2, 16, FNUZ>;

/// encode() and decode() for every type.
template <typename T>
DEVICE T encode(float x) {
  return T::encode(x);
}
template <>
DEVICE double encode<double>(float x) {
  return x;
}
template <>
DEVICE float encode<float>(float x) {
  return x;
}
template <>
DEVICE i8 encode<i8>(float x) {
  const float bounded = x < -127.0f ? -127.0f : x > 127.0f ? 127.0f : x;
  return static_cast<i8>(bounded < 0 ? bounded - 0.5f : bounded + 0.5f);
}
template <>
DEVICE i32 encode<i32>(float x) {
  return static_cast<i32>(x);
}

template <typename T>
DEVICE float decode_f32(T x) {
  return x.decode();
}
template <>
DEVICE float decode_f32(float x) {
  return x;
}

template <typename T>
DEVICE double decode(T x) {
  return x.decode();
}
template <>
DEVICE double decode(double x) {
  return x;
}
template <>
DEVICE double decode(float x) {
  return x;
}
template <>
DEVICE double decode(i8 x) {
  return x;
}
template <>
DEVICE double decode(i32 x) {
  return x;
}

/// The order of assay::DataType (src/core/data_type.h).
enum ElementType { F64, F32, TF32, F16_, BF16, E4M3, E5M2, E4M3_FNUZ, E5M2_FNUZ, I8, I32 };

template <typename T>
DEVICE double decode_at(const void* x, u64 i) {
  return decode(static_cast<const T*>(x)[i]);
}

/// Element `i` of an array whose type is known only at run time.
DEVICE double element_at(const void* x, int type, u64 i) {
  switch (type) {
    case F64:
      return decode_at<double>(x, i);
    case F16_:
      return decode_at<F16>(x, i);
    case BF16:
      return decode_at<Bf16>(x, i);
    case E4M3:
      return decode_at<E4m3>(x, i);
    case E5M2:
      return decode_at<E5m2>(x, i);
    case E4M3_FNUZ:
      return decode_at<E4m3Fnuz>(x, i);
    case E5M2_FNUZ:
      return decode_at<E5m2Fnuz>(x, i);
    case I8:
      return decode_at<i8>(x, i);
    case I32:
      return decode_at<i32>(x, i);
    default:
      return decode_at<float>(x, i);
  }
}

}  // namespace
