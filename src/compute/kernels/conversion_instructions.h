// Instructions of GPUs that convert two numbers at a time between f32 and narrower types.
#pragma once

#include "element_types.h"

namespace {

struct Two {
  float low, high;
};

/// EncodeTwo<T>::codes(low, high) encodes two numbers that are not NaNs, the first in the lower
/// bits. DecodeTwo<T>::numbers(codes) returns two numbers; a NaN code may give any NaN. These
/// functions exist only if `native` is true: the device has instructions for them.
template <typename T>
struct EncodeTwo {
  static constexpr bool native = false;
};
template <typename T>
struct DecodeTwo {
  static constexpr bool native = false;
};
/// HalvesOfTwo<T>::halves(codes) returns two codes of fp8 as F16, which holds each of their
/// numbers.
template <typename T>
struct HalvesOfTwo {
  static constexpr bool native = false;
};

#if !defined(ON_CPU)
/// Returns the upper halves of two words; the first word's half is the lower half of the result.
DEVICE u32 upper_halves(u32 first, u32 second) {
#if defined(ON_CUDA)
  return __byte_perm(first, second, 0x7632);
#else
  return __builtin_amdgcn_perm(second, first, 0x07060302);
#endif
}

/// Returns bytes of two words in turn, the first word's first: the lower two of each, or the upper.
DEVICE u32 bytes_in_turn(u32 first, u32 second, bool upper) {
#if defined(ON_CUDA)
  return __byte_perm(first, second, upper ? 0x7362 : 0x5140);
#else
  return __builtin_amdgcn_perm(second, first, upper ? 0x07030602 : 0x05010400);
#endif
}

/// Returns the lower halves of two words in the same order.
DEVICE u32 lower_halves(u32 first, u32 second) {
#if defined(ON_CUDA)
  return __byte_perm(first, second, 0x5410);
#else
  return __builtin_amdgcn_perm(second, first, 0x05040100);
#endif
}

template <>
struct DecodeTwo<Bf16> {
  static constexpr bool native = true;
  static DEVICE Two numbers(u32 codes) {
    return {float_of(codes << 16), float_of(codes & 0xFFFF0000u)};
  }
};
#endif

#if defined(ON_CUDA)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define PAIR_INSTRUCTIONS 1
#endif
// The compiler knows the fp8 instructions of sm_89 since CUDA 12.1.
#if defined(PAIR_INSTRUCTIONS) && \
    (__CUDA_ARCH__ >= 900 ||      \
     (__CUDA_ARCH__ >= 890 &&     \
      (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 1))))
#define FP8_INSTRUCTIONS 1
#endif

#if defined(PAIR_INSTRUCTIONS)
DEVICE Two numbers_of_halves(u32 halves) {
  Two two;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"
      : "=f"(two.low), "=f"(two.high)
      : "r"(halves));
  return two;
}
template <>
struct EncodeTwo<Bf16> {
  static constexpr bool native = true;
  static DEVICE u32 codes(float low, float high) {
    u32 codes;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(codes) : "f"(high), "f"(low));
    return codes;
  }
};
template <>
struct EncodeTwo<F16> {
  static constexpr bool native = true;
  static DEVICE u32 codes(float low, float high) {
    u32 codes;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(codes) : "f"(high), "f"(low));
    return codes;
  }
};
template <>
struct DecodeTwo<F16> {
  static constexpr bool native = true;
  static DEVICE Two numbers(u32 codes) { return numbers_of_halves(codes); }
};
#endif

#if defined(FP8_INSTRUCTIONS)  // they saturate infinities, too; f16 holds every fp8 number
template <>
struct EncodeTwo<E4m3> {
  static constexpr bool native = true;
  static DEVICE u32 codes(float low, float high) {
    u16 codes;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
    return codes;
  }
};
template <>
struct HalvesOfTwo<E4m3> {
  static constexpr bool native = true;
  static DEVICE u32 halves(u32 codes) {
    u32 halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<u16>(codes)));
    return halves;
  }
};
template <>
struct DecodeTwo<E4m3> {
  static constexpr bool native = true;
  static DEVICE Two numbers(u32 codes) {
    return numbers_of_halves(HalvesOfTwo<E4m3>::halves(codes));
  }
};
template <>
struct EncodeTwo<E5m2> {
  static constexpr bool native = true;
  static DEVICE u32 codes(float low, float high) {
    u16 codes;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
    return codes;
  }
};
template <>
struct DecodeTwo<E5m2> {
  static constexpr bool native = true;
  static DEVICE Two numbers(u32 codes) {
    u32 halves;
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(static_cast<u16>(codes)));
    return numbers_of_halves(halves);
  }
};
#endif

#elif defined(ON_HIP)
/// Only gfx950 has an instruction for bf16; without NaNs, rounding takes only two instructions.
template <>
struct EncodeTwo<Bf16> {
  static constexpr bool native = true;
#if defined(__gfx950__)
  static DEVICE u32 codes(float low, float high) {
    u32 codes;
    asm("v_cvt_pk_bf16_f32 %0, %1, %2" : "=v"(codes) : "v"(low), "v"(high));
    return codes;
  }
#else
  static DEVICE u32 codes(float low, float high) {
    return rounded(low) >> 16 | (rounded(high) & 0xFFFF0000u);
  }

 private:
  static DEVICE u32 rounded(float x) {
    return bits_of(x) + 0x7FFF + ((bits_of(x) >> 16) & 1);
  }
#endif
};
template <>
struct EncodeTwo<F16> {
  static constexpr bool native = true;
  static DEVICE u32 codes(float low, float high) { return half(low) | half(high) << 16; }

 private:
  static DEVICE u32 half(float x) { return bits_as<u16>(static_cast<_Float16>(x)); }
};
template <>
struct DecodeTwo<F16> {
  static constexpr bool native = true;
  static DEVICE Two numbers(u32 codes) { return {number(codes), number(codes >> 16)}; }

 private:
  static DEVICE float number(u32 code) {
    return static_cast<float>(bits_as<_Float16>(static_cast<u16>(code)));
  }
};

#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
#define FP8_INSTRUCTIONS 1
using ChipE4m3 = E4m3Fnuz;
using ChipE5m2 = E5m2Fnuz;
#elif defined(__gfx950__)
#define FP8_INSTRUCTIONS 1
using ChipE4m3 = E4m3;
using ChipE5m2 = E5m2;
#endif

#if defined(FP8_INSTRUCTIONS)
/// Clamps `x` to the range of T, because the instructions do not saturate.
template <typename T>
DEVICE float limited(float x) {
  constexpr T most = {T::largest};
  return __builtin_amdgcn_fmed3f(x, most.decode(), -most.decode());
}
template <>
struct EncodeTwo<ChipE4m3> {
  static constexpr bool native = true;
  static DEVICE u32 codes(float low, float high) {
    return static_cast<u32>(
        __builtin_amdgcn_cvt_pk_fp8_f32(limited<ChipE4m3>(low), limited<ChipE4m3>(high), 0, false));
  }
};
template <>
struct DecodeTwo<ChipE4m3> {
  static constexpr bool native = true;
  static DEVICE Two numbers(u32 codes) {
    const auto two = __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(codes), false);
    return {two[0], two[1]};
  }
};
template <>
struct HalvesOfTwo<ChipE4m3> {
  static constexpr bool native = true;
  static DEVICE u32 halves(u32 codes) {
    const Two two = DecodeTwo<ChipE4m3>::numbers(codes);
    return bits_as<u32>(__builtin_amdgcn_cvt_pkrtz(two.low, two.high));
  }
};
template <>
struct EncodeTwo<ChipE5m2> {
  static constexpr bool native = true;
  static DEVICE u32 codes(float low, float high) {
    return static_cast<u32>(
        __builtin_amdgcn_cvt_pk_bf8_f32(limited<ChipE5m2>(low), limited<ChipE5m2>(high), 0, false));
  }
};
template <>
struct DecodeTwo<ChipE5m2> {
  static constexpr bool native = true;
  static DEVICE Two numbers(u32 codes) {
    const auto two = __builtin_amdgcn_cvt_pk_f32_bf8(static_cast<int>(codes), false);
    return {two[0], two[1]};
  }
};
#endif
#endif

}  // namespace
