// Random numbers from a counter: the same bits on every device and for every order of threads.
#pragma once

#include "conversions.h"
#include "mix.h"

namespace {

/// 32 random bits of number `i` of the stream `key`, using only 32-bit multiplications, because a
/// GPU needs six of them for a 64-bit one. Two rounds of a multiply-and-shift mixer, between which
/// the upper halves of `i` and `key` are mixed in. The constants come from the hash prospector's
/// search for lowbias32.
DEVICE u32 random_bits(u64 i, u64 key) {
  u32 x = static_cast<u32>(i) ^ static_cast<u32>(key);
  x = (x ^ (x >> 16)) * 0x21F0AAADu;
  x = (x ^ (x >> 15)) * 0x735A2D97u;
  x ^= (x >> 15) ^ static_cast<u32>(i >> 32) ^ static_cast<u32>(key >> 32);
  x = (x ^ (x >> 16)) * 0x21F0AAADu;
  x = (x ^ (x >> 15)) * 0x735A2D97u;
  return x ^ (x >> 15);
}

/// `x` as bf16, rounded up or down with probabilities that make the mean exact; uses the low 16
/// bits of `random`. Infinities and NaNs are rounded as usual, and a finite number never becomes
/// infinite.
DEVICE Bf16 round_stochastically(float x, u32 random) {
  const u32 bits = bits_of(x), magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= 0x7F7F0000u) return encode<Bf16>(x);
  return {static_cast<u16>((bits + (random & 0xFFFF)) >> 16)};
}

/// Elements `first` ... `first` + N of a tensor, each rounded by random bits that depend only on
/// its index and `key`: two elements share the bits of one number. `first` and N must be even.
template <int N>
DEVICE Pack<Bf16, N> round_stochastically(Pack<float, N> x, u64 first, u64 key) {
  Pack<Bf16, N> result = {};
  UNROLL_LOOP
  for (int i = 0; i < N; i += 2) {
    const u32 random = random_bits((first + i) / 2, key);
    result.set(i, round_stochastically(x.v[i], random));
    result.set(i + 1, round_stochastically(x.v[i + 1], random >> 16));
  }
  return result;
}

}  // namespace
