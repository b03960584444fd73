// The weights of tokens, exp((logit - largest) / temperature), and sums of them in bins.
#pragma once

#include "fast_math.h"
#include "rows.h"

namespace {

// The mass of a weight is the weight in units of 2^-mass_bits, an integer; smaller weights are 0.
constexpr int mass_bits = 40;
// Bins of a histogram, and groups of neighbouring bins, of which a search looks at one alone.
constexpr u32 bins = 1024, groups = 32, bins_of_group = bins / groups;

/// Logits of T as numbers that grow with them; both zeros are equal. A T of 2 bytes must be bf16,
/// whose keys have 16 bits.
template <typename T>
struct Keys {
  static constexpr int unused_bits = sizeof(T) == 2 ? 16 : 0;

  static DEVICE u32 of(float x) {
    const u32 bits = x == 0 ? 0 : bits_of(x);
    return (bits >> 31 != 0 ? ~bits : bits | 0x80000000u) >> unused_bits;
  }
  static DEVICE float logit(u32 key) {
    const u32 bits = key << unused_bits;
    if (bits >> 31 != 0) return float_of(bits & 0x7FFFFFFFu);
    return float_of(~(bits | ((u32{1} << unused_bits) - 1)));
  }
};

/// 2^x for x in [-0.5, 0.5], by its series; relative error below 2^-23.
DEVICE float exp2_of_fraction(float x) {
  const float coefficients[] = {1.52527e-5f,   1.540353e-4f, 1.3333558e-3f, 9.6181291e-3f,
                                5.5504109e-2f, 0.24022651f,  0.69314718f,   1.0f};
  float sum = 0;
  UNROLL_LOOP
  for (int i = 0; i < 8; ++i) sum = sum * x + coefficients[i];
  return sum;
}

struct Weights {
  float largest, scale;  ///< the largest logit, and log2(e) / temperature

  DEVICE static Weights of(float largest, double temperature) {
    return {largest, static_cast<float>(1.4426950408889634 / temperature)};
  }
  /// Returns how many times the largest weight is halved to become that of the logit.
  DEVICE float halvings(float logit) const { return (largest - logit) * scale; }
  /// Returns the mass of the logit's weight; 0 if the logit is a NaN or the weight is below the
  /// unit. Its relative error is below 2^-20 for weights of at least 2^-8, and larger for smaller
  /// weights.
  DEVICE u64 mass(float logit) const {
    const float halved = halvings(logit);
    if (!(halved < mass_bits + 1)) return 0;
    const i32 whole = nearest_integer(halved);
    const float fraction = exp2_of_fraction(static_cast<float>(whole) - halved);
    const u32 digits = static_cast<u32>(fraction * 1073741824.0f);  // 2^30 of it
    const i32 shift = mass_bits - 30 - whole;
    return shift >= 0 ? u64{digits} << shift : digits >> -shift;
  }
  /// Returns the bin of the first histogram; the last one takes all weights that are nearly 0, and
  /// NaNs.
  DEVICE u32 bin(float logit) const {
    const float at = halvings(logit) * (float{bins} / mass_bits);
    return at < float{bins - 1} ? static_cast<u32>(at) : bins - 1;
  }
};

/// Masses are added in parts of 14 bits, because shared memory adds words of 32 bits at once: those
/// of 2^18 tokens fit.
struct Histogram {
  static constexpr int parts = 3, part_bits = 14;
  u32 mass[parts][bins];
  u32 count[bins];

  DEVICE void clear() {
    for (u32 i = thread_index(); i < bins; i += block_threads()) {
      UNROLL_LOOP
      for (int p = 0; p < parts; ++p) mass[p][i] = 0;
      count[i] = 0;
    }
    barrier();
  }
  DEVICE void add(u32 bin, u64 of_token) {
    atomic_add(&count[bin], 1u);
    add_mass(bin, of_token);
  }
  DEVICE void add_mass(u32 bin, u64 of_token) {
    UNROLL_LOOP
    for (int p = 0; p < parts; ++p) {
      const u32 part = static_cast<u32>(of_token >> p * part_bits) & ((1u << part_bits) - 1);
      if (part != 0) atomic_add(&mass[p][bin], part);
    }
  }
  DEVICE u64 mass_of(u32 bin) const {
    u64 sum = 0;
    UNROLL_LOOP
    for (int p = 0; p < parts; ++p) sum += u64{mass[p][bin]} << p * part_bits;
    return sum;
  }
};
static_assert(mass_bits < Histogram::parts * Histogram::part_bits, "the largest mass");

/// The first histogram of a row, or of the part of it that a block reads. Tokens are counted only
/// where top_k needs it.
struct MassSums {
  u64 mass[bins];
  u32 count[bins];
  u64 allowed_mass, allowed_tokens;  ///< what min_p leaves

  DEVICE u64 mass_of(u32 bin) const { return mass[bin]; }
};
static_assert(sizeof(MassSums) == 12304, "as in model/operations/token_sampling.cpp");

/// A part of the order: the tokens whose keys are in a range.
struct KeyRange {
  u32 lowest, highest;

  DEVICE bool contains(u32 key) const { return lowest <= key && key <= highest; }
  DEVICE u64 span() const { return u64{highest - lowest} + 1; }
  /// Bins of equal ranges, from the highest key down.
  DEVICE u32 bin(u32 key) const { return static_cast<u32>(u64{highest - key} * bins / span()); }
  /// Returns the keys of a bin.
  DEVICE KeyRange of_bin(u32 bin) const {
    const auto first = [&](u64 of) { return (of * span() + bins - 1) / bins; };
    return {highest - static_cast<u32>(first(bin + 1) - 1), highest - static_cast<u32>(first(bin))};
  }
};

/// Calls body(token, logit) for the tokens of a row from `begin`, a multiple of 8, to `end`. The
/// row must be readable up to the next multiple of 8; the block's threads share the tokens.
template <typename T, typename Body>
DEVICE void for_each_logit(const T* logits, u64 begin, u64 end, Body body) {
  for_each_pack(begin < end ? end - begin : 0, [&](u64 offset) {
    const u64 at = begin + offset, left = end - at;
    const u32 here = left < row_pack ? static_cast<u32>(left) : row_pack;
    const Floats values = load_floats(logits + at);
    UNROLL_LOOP
    for (u32 e = 0; e < row_pack; ++e) {
      if (e < here) body(at + e, values.v[e]);
    }
  });
}

}  // namespace
