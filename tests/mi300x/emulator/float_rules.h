// Rules of gfx9's float arithmetic that differ from the host's operators: minimum and maximum with
// NaNs and zeros of both signs, and f16 results without double rounding.
#pragma once

#include "emulator/vector_operation.h"

namespace mi300x {

/// Converts a double to a float that rounds to the same f16. Bits that do not fit are merged into
/// the last bit (round to odd), so that rounding twice gives the same result as rounding once.
inline Half half_from_double(double x) {
  const float nearest = float(x);
  if (double(nearest) == x || is_nan(x) || std::isinf(nearest)) return {nearest};
  u32 bits = std::bit_cast<u32>(nearest);
  if (std::fabs(double(nearest)) > std::fabs(x)) --bits;  // now cut off towards zero
  return {std::bit_cast<float>(bits | 1)};
}

template <class T>
T fused(T a, T b, T c) {
  return std::fma(a, b, c);
}
/// The result is exact in double, except for operands so far apart that round to odd decides.
inline Half fused(Half a, Half b, Half c) {
  return half_from_double(std::fma(double(a.value), double(b.value), double(c.value)));
}

/// The f16 form of an f32 function, for functions whose result needs no second rounding or survives
/// it.
template <auto f>
constexpr auto half1 = [](Half a) { return Half{f(a.value)}; };
template <auto f>
constexpr auto half2 = [](Half a, Half b) { return Half{f(a.value, b.value)}; };
template <auto f>
constexpr auto half3 = [](Half a, Half b, Half c) { return Half{f(a.value, b.value, c.value)}; };

/// v_min in IEEE mode: a number wins over a quiet NaN, a signalling NaN becomes the quieted result;
/// -0 is less than +0.
template <class T>
T least(T a, T b) {
  // The computation uses integers, which compilers vectorize for many lanes. Floats are ordered
  // like their bits, once the bits of negative ones are inverted.
  using Bits = std::conditional_t<sizeof(T) == 4, i32, i64>;
  constexpr Bits magnitude = std::numeric_limits<Bits>::max();
  constexpr Bits infinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  constexpr Bits quiet_bit = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN()) - infinity;
  const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  const bool x_is_nan = (x & magnitude) > infinity, y_is_nan = (y & magnitude) > infinity;
  const Bits x_order = x ^ (x >> (8 * sizeof(T) - 1) & magnitude);
  const Bits y_order = y ^ (y >> (8 * sizeof(T) - 1) & magnitude);
  Bits chosen = x_order < y_order ? x : y;
  chosen = y_is_nan ? x : chosen;
  chosen = x_is_nan ? y : chosen;
  chosen = (y_is_nan & ((y & quiet_bit) == 0)) ? y | quiet_bit : chosen;
  chosen = (x_is_nan & ((x & quiet_bit) == 0)) ? x | quiet_bit : chosen;
  return std::bit_cast<T>(chosen);
}
template <class T>
T greatest(T a, T b) {
  return -least(-a, -b);
}
template <class T>
T least3(T a, T b, T c) {
  return least(least(a, b), c);
}
template <class T>
T greatest3(T a, T b, T c) {
  return greatest(greatest(a, b), c);
}
template <class T>
T median3(T a, T b, T c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return least3(a, b, c);
  const T top = greatest3(a, b, c);
  if (top == a) return greatest(b, c);
  return top == b ? greatest(a, c) : greatest(a, b);
}

}  // namespace mi300x
