// Random numbers from a counter: the same bits on every device and for every order of threads.
#pragma once

#include "conversions.h"
#include "element_hash.h"

namespace {

/// Returns 32 random bits for number `i` of the stream `key`. It uses only 32-bit multiplications,
/// because a GPU needs six of them for a 64-bit one. Two rounds of a multiply-and-shift mixer are
/// applied, between which the upper halves of `i` and `key` are mixed in. The constants come from
/// the hash prospector's search for lowbias32.
DEVICE u32 random_bits(u64 i, u64 key) {
  u32 x = static_cast<u32>(i) ^ static_cast<u32>(key);
  x = (x ^ (x >> 16)) * 0x21F0AAADu;
  x = (x ^ (x >> 15)) * 0x735A2D97u;
  x ^= (x >> 15) ^ static_cast<u32>(i >> 32) ^ static_cast<u32>(key >> 32);
  x = (x ^ (x >> 16)) * 0x21F0AAADu;
  x = (x ^ (x >> 15)) * 0x735A2D97u;
  return x ^ (x >> 15);
}

/// Returns 32 other random bits for each 32 random bits, by one round of the mixer.
DEVICE u32 more_random_bits(u32 x) {
  x *= 0x21F0AAADu;
  return x ^ (x >> 15);
}

/// Rounds `x` to bf16, up or down with probabilities that make the expected value exact, using the
/// low 16 bits of `random`. Infinities and NaNs are preserved, and a finite number never becomes
/// infinite: one beyond the largest bf16 becomes this.
DEVICE Bf16 round_stochastically(float x, u32 random) {
  const u32 bits = bits_of(x), magnitude = bits & 0x7FFFFFFFu;
  // a truncated NaN could become infinite
  const u32 quiet = magnitude > 0x7F800000u ? 0x400000u : 0;
  const u32 change = magnitude >= 0x7F7F0000u ? 0 : random & 0xFFFF;
  return {static_cast<u16>(((bits | quiet) + change) >> 16)};
}

/// Random bits for N elements of a tensor, which depend only on the elements' index and a key. Two
/// neighbouring elements use the halves of one random_bits().
template <int N>
struct RandomPack {
  u32 bits[N / 2];

  /// Makes the bits of elements `first` to `first` + N - 1; `first` and N must be even.
  DEVICE RandomPack(u64 first, u64 key) {
    UNROLL_LOOP
    for (int i = 0; i < N; i += 2) bits[i / 2] = random_bits((first + i) / 2, key);
  }
  /// Switches to other bits, for another tensor.
  DEVICE void advance() {
    UNROLL_LOOP
    for (int i = 0; i < N / 2; ++i) bits[i] = more_random_bits(bits[i]);
  }
};

template <int N>
DEVICE Pack<Bf16, N> round_stochastically(Pack<float, N> x, const RandomPack<N>& random) {
  Pack<Bf16, N> result = {};
  UNROLL_LOOP
  for (int i = 0; i < N; i += 2) {
    result.set(i, round_stochastically(x.v[i], random.bits[i / 2]));
    result.set(i + 1, round_stochastically(x.v[i + 1], random.bits[i / 2] >> 16));
  }
  return result;
}
/// `first` is the even index of the pack's first element.
template <int N>
DEVICE Pack<Bf16, N> round_stochastically(Pack<float, N> x, u64 first, u64 key) {
  return round_stochastically(x, RandomPack<N>(first, key));
}

}  // namespace
