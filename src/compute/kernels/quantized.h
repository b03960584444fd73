// Elements of stored matrices, converted to f32: floats, or codes of i8 or fp8, which stand for
// numbers divided by a factor. Also how that factor is chosen.
#pragma once

#include "rows.h"

namespace {

/// The largest number that a code can represent.
template <typename Code>
DEVICE float largest_number() {
  constexpr Code code = {Code::largest};
  return code.decode();
}
template <>
DEVICE float largest_number<i8>() {
  return 127;
}

/// The factor of a row's codes, which are numbers / factor, and its inverse, from the largest
/// magnitude of the row. A row of zeros has codes of zero, and so has one whose factor would be
/// subnormal: its inverse may be infinite.
template <typename Code>
struct RowScale {
  float factor, inverse;

  static DEVICE RowScale of(float largest) {
    const float factor = largest / largest_number<Code>();
    constexpr float least_normal = 1.17549435e-38f;
    if (factor < least_normal) return {0, 0};
    return {factor, 1 / factor};
  }
};

/// Returns the largest of `largest` and the magnitudes of x; NaNs in x do not count.
DEVICE float largest_magnitude(Floats x, float largest) {
  UNROLL_LOOP
  for (int e = 0; e < row_pack; ++e) {
    const float magnitude = x.v[e] < 0 ? -x.v[e] : x.v[e];
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

/// How N elements of a matrix are loaded, as a Raw, and converted to f32, without a factor.
template <typename Code>
struct CodesOf {
  template <int N>
  using Raw = Pack<Code, N>;
  template <int N>
  static DEVICE Pack<float, N> numbers(Raw<N> codes) {
    return to_floats(codes);
  }
};

#if defined(ON_CPU)
template <>
struct CodesOf<i8> {
  template <int N>
  using Raw = Pack<i8, N>;
  template <int N>
  static DEVICE Pack<float, N> numbers(Raw<N> codes) {
    return {__builtin_convertvector(codes.v, typename Pack<float, N>::Vector)};
  }
};
#else
/// Codes are loaded as words. Integer conversions are slow on NVIDIA's chips, so a byte becomes the
/// low bits of a float instead. AMD's chips have an instruction for each byte of a word.
template <>
struct CodesOf<i8> {
  template <int N>
  using Raw = Pack<u32, N / 4>;
  template <int N>
  static DEVICE Pack<float, N> numbers(Raw<N> codes) {
    Pack<float, N> result;
    UNROLL_LOOP
    for (int i = 0; i < N; ++i) {
      const u32 word = codes.v[i / 4] ^ 0x80808080u;  // adds 128 to each byte
      const u32 at = static_cast<u32>(i % 4);
#if defined(ON_CUDA)
      result.v[i] = float_of(__byte_perm(word, 0x4B000000u, 0x7440u | at)) - (8388608.0f + 128.0f);
#else
      result.v[i] = static_cast<float>(word >> at * 8 & 0xFFu) - 128.0f;
#endif
    }
    return result;
  }
};
#endif

}  // namespace
