// The functions of atomics on memory and LDS: they compute the new value from the value in memory
// and the lane's value.
#pragma once

#include <cmath>

#include "emulator/fault.h"
#include "emulator/lanes.h"
#include "emulator/small_floats.h"

namespace mi300x {

/// How an atomic on floats treats denormals. In LDS the MODE register decides. In the L2 cache f16,
/// bf16 and f64 keep them. For f32 additions AMD's manual says that they are flushed, but LLVM says
/// that gfx942 keeps them. A program must not depend on it, so such values stop it. (The behaviour
/// of a FLAT atomic on LDS is undocumented, too; the same rule applies.)
enum class Denormals : u8 { kept, flushed, not_known };

// ---- Integers ----

template <class T>
inline T atomic_swap(T, T data, Denormals) {
  return data;
}
template <class T>
inline T atomic_add(T memory, T data, Denormals) {
  return memory + data;
}
template <class T>
inline T atomic_subtract(T memory, T data, Denormals) {
  return memory - data;
}
template <class T>
inline T atomic_subtract_reversed(T memory, T data, Denormals) {
  return data - memory;
}
template <class T>
inline T atomic_and(T memory, T data, Denormals) {
  return memory & data;
}
template <class T>
inline T atomic_or(T memory, T data, Denormals) {
  return memory | data;
}
template <class T>
inline T atomic_xor(T memory, T data, Denormals) {
  return memory ^ data;
}
template <class T>
inline T atomic_least(T memory, T data, Denormals) {
  return data < memory ? data : memory;
}
template <class T>
inline T atomic_greatest(T memory, T data, Denormals) {
  return data > memory ? data : memory;
}
/// Counts up to `data`, then starts again at 0.
template <class T>
inline T atomic_increment(T memory, T data, Denormals) {
  return memory >= data ? 0 : memory + 1;
}
/// Counts down from `data` to 0, then starts again.
template <class T>
inline T atomic_decrement(T memory, T data, Denormals) {
  return memory == 0 || memory > data ? data : memory - 1;
}

// ---- Floats ----

inline bool signals(float x) {
  return std::isnan(x) && !(std::bit_cast<u32>(x) & 0x400000);
}
inline bool signals(double x) {
  return std::isnan(x) && !(std::bit_cast<u64>(x) & u64{1} << 51);
}

template <class Float>
inline Float treat_denormal(Float x, Denormals denormals) {
  if (denormals == Denormals::kept || std::fpclassify(x) != FP_SUBNORMAL) return x;
  if (denormals == Denormals::flushed) return std::copysign(Float{0}, x);
  throw Fault(FaultKind::unknown_instruction,
              "an f32 addition in memory meets a denormal, which AMD's manual flushes and LLVM's "
              "description of the chip keeps");
}

template <class Float>
inline Float add_floats(Float memory, Float data, Denormals denormals) {
  const Float a = treat_denormal(memory, denormals), b = treat_denormal(data, denormals);
  if (std::isnan(a)) return quiet(a);
  if (std::isnan(b)) return quiet(b);
  const Float sum = a + b;  // to nearest even, whatever MODE contains
  if (std::isnan(sum)) return std::numeric_limits<Float>::quiet_NaN();  // infinity minus infinity
  return treat_denormal(sum, denormals);
}

/// Follows the selection rules in the ISA's chapter on float memory atomics: a signalling NaN is
/// made quiet and wins, a quiet one loses; -0 is less than +0. Flushing affects only the
/// comparison.
template <class Float>
inline Float select_float(Float memory, Float data, Denormals denormals, bool greatest) {
  if (signals(memory)) return quiet(memory);
  if (signals(data)) return quiet(data);
  if (std::isnan(memory)) return data;
  if (std::isnan(data)) return memory;
  const Float a = treat_denormal(memory, denormals), b = treat_denormal(data, denormals);
  const bool data_is_less = b < a || (a == b && std::signbit(b) && !std::signbit(a));
  const bool data_is_greater = b > a || (a == b && !std::signbit(b) && std::signbit(a));
  return (greatest ? data_is_greater : data_is_less) ? data : memory;
}

// Floats are passed as integers that hold their bits, because the host's atomics exchange integers.
inline u32 atomic_add_f32(u32 memory, u32 data, Denormals denormals) {
  return std::bit_cast<u32>(
      add_floats(std::bit_cast<float>(memory), std::bit_cast<float>(data), denormals));
}
inline u64 atomic_add_f64(u64 memory, u64 data, Denormals) {  // never flushes
  return std::bit_cast<u64>(
      add_floats(std::bit_cast<double>(memory), std::bit_cast<double>(data), Denormals::kept));
}
template <bool greatest>
inline u32 atomic_select_f32(u32 memory, u32 data, Denormals denormals) {
  return std::bit_cast<u32>(
      select_float(std::bit_cast<float>(memory), std::bit_cast<float>(data), denormals, greatest));
}
template <bool greatest>
inline u64 atomic_select_f64(u64 memory, u64 data, Denormals denormals) {
  return std::bit_cast<u64>(select_float(std::bit_cast<double>(memory), std::bit_cast<double>(data),
                                         denormals, greatest));
}

/// Adds halves as floats and rounds back. A float has more than twice the bits of a half, so
/// rounding twice gives the same result as rounding once.
template <class Half>
inline u32 add_halves(u32 memory, u32 data, Denormals denormals) {
  const auto flush = [&](u32 code) {
    const bool denormal = (code & Half::infinity) == 0;
    return denormal && denormals == Denormals::flushed ? code & Half::sign : code;
  };
  const float sum =
      add_floats(widen<Half>(flush(memory)), widen<Half>(flush(data)), Denormals::kept);
  return flush(narrow<Half>(sum));
}
template <class Half>
inline u32 atomic_add_packed(u32 memory, u32 data, Denormals denormals) {
  return add_halves<Half>(memory & 0xFFFF, data & 0xFFFF, denormals) |
         add_halves<Half>(memory >> 16, data >> 16, denormals) << 16;
}

// ---- In memory ----

/// Replaces the value at `place` by update(value) atomically and returns the old value.
template <class T, class Update>
inline T exchange(char* place, Update update) {
  T* value = reinterpret_cast<T*>(place);
  T old = __atomic_load_n(value, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(value, &old, update(old), false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}

/// Reads or writes a lane's value of one or two registers.
template <class T>
inline T lane_value(const Lanes* registers, unsigned lane) {
  if constexpr (sizeof(T) == 8)
    return T(u64{registers[1].lane[lane]} << 32 | registers[0].lane[lane]);
  else
    return T(registers[0].lane[lane]);
}
template <class T>
inline void set_lane_value(Lanes* registers, unsigned lane, T value) {
  registers[0].lane[lane] = u32(value);
  if constexpr (sizeof(T) == 8) registers[1].lane[lane] = u32(u64(value) >> 32);
}

}  // namespace mi300x
