// Elementary functions at the speed of the hardware's own instructions, f32. The errors hold for
// all normal arguments and results; subnormal ones may count as 0. Results differ in the last bits
// between vendors.
#pragma once

#include "dialect.h"

namespace {

/// 2^x, relative error below 2^-21; 0 below -150, infinity from 128 on. Subnormal results may be 0.
DEVICE float fast_exp2(float x) {
#if defined(ON_CUDA)
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#elif defined(ON_HIP) && __has_builtin(__builtin_amdgcn_exp2f)
  return __builtin_amdgcn_exp2f(x);
#else
  return __builtin_exp2f(x);
#endif
}

/// log2(x) for x > 0, absolute error below 2^-21 near 1, relative elsewhere.
DEVICE float fast_log2(float x) {
#if defined(ON_CUDA)
  float result;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#elif defined(ON_HIP) && __has_builtin(__builtin_amdgcn_logf)
  return __builtin_amdgcn_logf(x);
#else
  return __builtin_log2f(x);
#endif
}

/// 1 / sqrt(x), relative error below 2^-21.
DEVICE float fast_rsqrt(float x) {
#if defined(ON_CUDA)
  float result;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#elif defined(ON_HIP)
  return __builtin_amdgcn_rsqf(x);
#else
  return 1 / __builtin_sqrtf(x);
#endif
}

/// sqrt(x), relative error below 2^-21.
DEVICE float fast_sqrt(float x) {
#if defined(ON_CUDA)
  float result;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#elif defined(ON_HIP)
  return __builtin_amdgcn_sqrtf(x);
#else
  return __builtin_sqrtf(x);
#endif
}

/// 1 / x, relative error below 2^-21.
DEVICE float fast_reciprocal(float x) {
#if defined(ON_CUDA)
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#elif defined(ON_HIP)
  return __builtin_amdgcn_rcpf(x);
#else
  return 1 / x;
#endif
}

/// Returns the larger of two numbers; with a NaN it returns either operand.
DEVICE float larger(float a, float b) {
#if defined(ON_CUDA)
  return fmaxf(a, b);
#elif defined(ON_HIP)
  return __builtin_fmaxf(a, b);
#else
  return a > b ? a : b;
#endif
}

/// Returns the integer nearest to x, ties to even; |x| < 2^31. A NaN gives any integer.
DEVICE i32 nearest_integer(float x) {
#if defined(ON_CUDA)
  return __float2int_rn(x);
#elif defined(ON_HIP)
  return static_cast<i32>(__builtin_rintf(x));
#else
  return static_cast<i32>(__builtin_rintf(x == x ? x : 0));
#endif
}

constexpr float log2_e = 1.44269504f;

/// e^x; its error is that of fast_exp2() and of rounding x log2(e).
DEVICE float fast_exp(float x) {
  return fast_exp2(x * log2_e);
}

/// 1 / (1 + e^-x)
DEVICE float sigmoid(float x) {
  return fast_reciprocal(1 + fast_exp2(-log2_e * x));
}
/// x / (1 + e^-x)
DEVICE float silu(float x) {
  return x * sigmoid(x);
}

/// tanh(x), absolute error below 2^-20; computed from the exponential, because the hardware's tanh
/// has only 11 bits. The quotient is written so that a large |x| gives 1 without overflow.
DEVICE float fast_tanh(float x) {
  return 1 - 2 * fast_reciprocal(1 + fast_exp2(2 * log2_e * x));
}

}  // namespace
