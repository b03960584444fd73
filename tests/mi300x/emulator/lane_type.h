// The lane types of which vector operations are functions: how 64 values are fetched, held and
// stored.
#pragma once

#include <bit>
#include <concepts>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "emulator/lanes.h"
#include "emulator/small_floats.h"

namespace mi300x {

/// An f16, held as an equal float. A result need not be an f16 yet: it is rounded when it is
/// stored.
struct Half {
  float value;
};

/// Uses the host's instructions for f16 if it has them: the same values, many times faster.
inline float widened_half(u32 code) {
#if defined(__F16C__)
  return _cvtsh_ss(u16(code));
#else
  return f32_from_f16(u16(code));
#endif
}
inline u32 narrowed_half(float x) {
#if defined(__F16C__)
  return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
#else
  return f16_from_f32(x);
#endif
}

template <class T>
concept Floating = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, Half>;

/// A type of 32 bits: the representation of 64 lanes, and how they are fetched.
template <class T>
struct LaneType {
  using Source = const u32*;
  struct Array {
    alignas(64) u32 lane[wave_lanes];
    Array() {}  // garbage: every lane is written before it is read
    u32 operator[](unsigned i) const { return lane[i]; }
    void set(unsigned i, T value) { lane[i] = to(value); }
  };
  static constexpr Type type = std::same_as<T, float> ? Type::f32 : Type::b32;
  static T from(u32 raw) { return std::bit_cast<T>(raw); }
  static u32 to(T value) { return std::bit_cast<u32>(value); }
  static Source fetch(const Wave& wave, const Instruction& instruction, unsigned source,
                      Array& storage) {
    return fetch32(wave, instruction, source, storage.lane);
  }
  static Source fetch_target(const Wave& wave, unsigned index, Array&) {
    return wave.vector[index].lane;
  }
};

/// A type of 64 bits, in two registers.
template <class T>
requires(sizeof(T) == 8) struct LaneType<T> {
  using Source = Words64;
  struct Array {
    alignas(64) u32 low[wave_lanes], high[wave_lanes];
    Array() {}
    u64 operator[](unsigned i) const { return Words64{low, high}[i]; }
    void set(unsigned i, T value) {
      low[i] = u32(std::bit_cast<u64>(value));
      high[i] = u32(std::bit_cast<u64>(value) >> 32);
    }
  };
  static constexpr Type type = std::same_as<T, double> ? Type::f64 : Type::b64;
  static T from(u64 raw) { return std::bit_cast<T>(raw); }
  static Source fetch(const Wave& wave, const Instruction& instruction, unsigned source,
                      Array& storage) {
    return fetch64(wave, instruction, source, storage.low, storage.high);
  }
  static Source fetch_target(const Wave& wave, unsigned index, Array&) {
    return {wave.vector[index].lane, wave.vector[index + 1].lane};
  }
};

/// 64 bits as two words. Functions of these are compiled for eight lanes at a time, whereas those
/// of u64 are compiled for four, with many conversions.
struct Words {
  u32 low, high;
};
template <>
struct LaneType<Words> {
  struct Source {
    const u32 *low, *high;
    Words operator[](unsigned i) const { return {low[i], high[i]}; }
  };
  struct Array {
    alignas(64) u32 low[wave_lanes], high[wave_lanes];
    Array() {}
    void set(unsigned i, Words value) {
      low[i] = value.low;
      high[i] = value.high;
    }
  };
  static constexpr Type type = Type::b64;
  static Words from(Words raw) { return raw; }
  static Source fetch(const Wave& wave, const Instruction& instruction, unsigned source,
                      Array& storage) {
    const Words64 words = fetch64(wave, instruction, source, storage.low, storage.high);
    return {words.low, words.high};
  }
};

/// A type of 16 bits: a half of a register.
template <class T>
concept HalfWord = std::same_as<T, u16> || std::same_as<T, i16> || std::same_as<T, Half>;
template <HalfWord T>
struct LaneType<T> {
  using Source = const u32*;
  struct Array {
    alignas(64) u32 lane[wave_lanes];
    Array() {}
    u32 operator[](unsigned i) const { return lane[i]; }
    void set(unsigned i, T value) { lane[i] = to(value); }
  };
  static constexpr Type type = std::same_as<T, Half> ? Type::f16 : Type::b16;
  static T from(u32 raw) {
    if constexpr (!std::same_as<T, Half>) return T(raw);
    if constexpr (std::same_as<T, Half>) {
      const float value = widened_half(raw);
      // Widening makes NaNs quiet, but min and max must distinguish them.
      const bool signalling = value != value && !(raw & 0x200);
      return {signalling ? std::bit_cast<float>(std::bit_cast<u32>(value) & ~0x400000u) : value};
    }
  }
  static u32 to(T value) {
    if constexpr (std::same_as<T, Half>)
      return narrowed_half(value.value);
    else
      return u16(value);
  }
  static Source fetch(const Wave& wave, const Instruction& instruction, unsigned source,
                      Array& storage) {
    return fetch16(wave, instruction, source, storage.lane);
  }
  static Source fetch_target(const Wave& wave, unsigned index, Array& storage) {
    for (unsigned i = 0; i < wave_lanes; ++i) storage.lane[i] = wave.vector[index].lane[i] & 0xFFFF;
    return storage.lane;
  }
};

/// One bit per lane, in a pair of scalar registers.
template <>
struct LaneType<bool> {
  using Source = const u32*;
  struct Array {
    alignas(64) u32 lane[wave_lanes];
    Array() {}
    void set(unsigned i, bool value) { lane[i] = -u32{value}; }
  };
  static constexpr Type type = Type::b64;
  static bool from(u32 raw) { return raw != 0; }
  static Source fetch(const Wave& wave, const Instruction& instruction, unsigned source,
                      Array& storage) {
    return fetch_mask(wave, instruction, source, storage.lane);
  }
};

template <class T>
using LaneArray = typename LaneType<T>::Array;
template <class T>
using LaneSource = typename LaneType<T>::Source;

}  // namespace mi300x
