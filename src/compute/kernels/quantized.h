// Elements of stored matrices, numbers or the codes of quantized ones, read sixteen bytes at a time
// and turned into numbers.
#pragma once

#include "rows.h"

namespace {

/// How N elements of a matrix are loaded, and the numbers that they are.
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
/// In words, which are loaded as such. Conversions of integers are slow on NVIDIA's chips: a byte
/// becomes the last bits of a float instead. AMD's have an instruction for each byte of a word.
template <>
struct CodesOf<i8> {
  template <int N>
  using Raw = Pack<u32, N / 4>;
  template <int N>
  static DEVICE Pack<float, N> numbers(Raw<N> codes) {
    Pack<float, N> result;
    UNROLL_LOOP
    for (int i = 0; i < N; ++i) {
      const u32 word = codes.v[i / 4] ^ 0x80808080u;  // each byte 128 more
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
