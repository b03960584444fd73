// Conversions between f32, in which kernels compute, and the types stored in memory: encode(),
// decode(), and Packs of narrow elements, which a thread loads or stores in one access. They use
// the chip's own instructions where they exist, and give the same bits as element_types.h on every
// device. Instructions produce other NaNs, which are replaced here; where their range differs,
// numbers are clamped first.
#pragma once

#include "conversion_instructions.h"
#include "element_types.h"

namespace {

// ---- One element ----

/// Returns `x` as a T, rounded to nearest, ties to even. Integers differ: i8 rounds ties away from
/// zero and saturates at -127 and 127; i32 rounds towards zero, and `x` must be in its range.
template <typename T>
DEVICE T encode(float x) {
  if constexpr (EncodeTwo<T>::native) {
    const T code = {static_cast<decltype(T::bits)>(EncodeTwo<T>::codes(x, 0))};
    return x == x ? code : T::encode_nan(x);
  } else {
    return T::encode(x);
  }
}
template <>
DEVICE double encode<double>(float x) {
  return x;
}
template <>
DEVICE float encode<float>(float x) {
  return x;
}
template <>
DEVICE i8 encode<i8>(float x) {
  const float bounded = x < -127.0f ? -127.0f : x > 127.0f ? 127.0f : x;
  return static_cast<i8>(bounded < 0 ? bounded - 0.5f : bounded + 0.5f);
}
template <>
DEVICE i32 encode<i32>(float x) {
  return static_cast<i32>(x);
}

/// Decodes exactly: to a float, or to a double for types with numbers that no float can hold.
template <typename T>
DEVICE float decode(T x) {
  if constexpr (DecodeTwo<T>::native) {
    const float number = DecodeTwo<T>::numbers(x.bits).low;
    return number == number ? number : x.decode_nan();
  } else {
    return x.decode();
  }
}
DEVICE float decode(float x) {
  return x;
}
DEVICE float decode(i8 x) {
  return x;
}
DEVICE double decode(double x) {
  return x;
}
DEVICE double decode(i32 x) {
  return x;
}

/// The first values of assay::DataType (src/core/data_type.h), with the same numbers.
enum ElementType { F64, F32, TF32, F16_, BF16, E4M3, E5M2, E4M3_FNUZ, E5M2_FNUZ, I8, I32 };

template <typename T>
DEVICE auto decode_at(const void* x, u64 i) {
  return decode(static_cast<const T*>(x)[i]);
}

/// Returns element `i` of an array whose type, an ElementType, is known only at run time.
DEVICE double element_at(const void* x, int type, u64 i) {
  switch (type) {
    case F64:
      return decode_at<double>(x, i);
    case F16_:
      return decode_at<F16>(x, i);
    case BF16:
      return decode_at<Bf16>(x, i);
    case E4M3:
      return decode_at<E4m3>(x, i);
    case E5M2:
      return decode_at<E5m2>(x, i);
    case E4M3_FNUZ:
      return decode_at<E4m3Fnuz>(x, i);
    case E5M2_FNUZ:
      return decode_at<E5m2Fnuz>(x, i);
    case I8:
      return decode_at<i8>(x, i);
    case I32:
      return decode_at<i32>(x, i);
    default:
      return decode_at<float>(x, i);
  }
}

// ---- Packs ----

/// Number of elements of T in the widest access of a thread: on GPUs 8 of 16 bits, 16 of 8 bits.
template <typename T>
constexpr int pack_elements = PACK_BYTES / sizeof(T);

template <typename A, typename B>
constexpr bool same = false;
template <typename A>
constexpr bool same<A, A> = true;

template <int N>
DEVICE Pack<float, N> decode(Pack<float, N> x) {
  return x;
}

#if defined(ON_CPU)
/// N codes in one vector register.
template <typename Bits, int E, int M, int BIAS, Specials SPECIALS, int N>
struct __attribute__((may_alias)) Pack<SmallFloat<Bits, E, M, BIAS, SPECIALS>, N> {
  using Element = SmallFloat<Bits, E, M, BIAS, SPECIALS>;
  typedef Bits Vector __attribute__((vector_size(N * sizeof(Bits)), aligned(sizeof(Bits))));
  Vector v;
  DEVICE Element get(int i) const { return {v[i]}; }
  DEVICE void set(int i, Element x) { v[i] = x.bits; }
};

/// Conversions of N numbers, as the bits of floats; N of them fit into one vector register.
template <typename T, int N>
struct Lanes {
  typedef u32 Words __attribute__((vector_size(4 * N)));
  typedef float Floats __attribute__((vector_size(4 * N)));
  typedef decltype(T::bits) Codes __attribute__((vector_size(sizeof(T) * N)));
  static DEVICE Words decode(Codes codes) {
    return T::template decode_words<Floats>(__builtin_convertvector(codes, Words));
  }
  static DEVICE Codes encode(Words words) {
    return __builtin_convertvector(T::template encode_words<Floats>(words), Codes);
  }
};

#if defined(__F16C__)
/// Replaces NaNs by those of element_types.h, because the instructions keep NaN payloads. There is
/// no such specialization for bf16, because AVX512-BF16 treats denormals as zeros.
template <typename Words>
DEVICE Words plain_nans(Words words) {
  const Words nan = (words & 0x80000000u) | 0x7FC00000u;
  return (words & 0x7FFFFFFFu) > 0x7F800000u ? nan : words;
}
template <>
struct Lanes<F16, 8> {
  typedef u32 Words __attribute__((vector_size(32)));
  typedef u16 Codes __attribute__((vector_size(16)));
  static DEVICE Words decode(Codes codes) {
    return plain_nans(bits_as<Words>(_mm256_cvtph_ps(bits_as<__m128i>(codes))));
  }
  static DEVICE Codes encode(Words words) {
    return bits_as<Codes>(
        _mm256_cvtps_ph(bits_as<__m256>(plain_nans(words)), _MM_FROUND_TO_NEAREST_INT));
  }
};
#endif
#if defined(__AVX512F__)
template <>
struct Lanes<F16, 16> {
  static constexpr __mmask16 all = 0xFFFF;  // g++ 12 warns about the forms without a mask
  typedef u32 Words __attribute__((vector_size(64)));
  typedef u16 Codes __attribute__((vector_size(32)));
  static DEVICE Words decode(Codes codes) {
    return plain_nans(bits_as<Words>(_mm512_maskz_cvtph_ps(all, bits_as<__m256i>(codes))));
  }
  static DEVICE Codes encode(Words words) {
    return bits_as<Codes>(
        _mm512_maskz_cvtps_ph(all, bits_as<__m512>(plain_nans(words)), _MM_FROUND_TO_NEAREST_INT));
  }
};
#endif

/// Splits a pack of N codes, and the pack of their numbers, into parts of `lanes` elements, whose
/// numbers fit one register.
template <typename T, int N>
struct Parts {
  static constexpr int lanes = N < PACK_BYTES / 4 ? N : PACK_BYTES / 4, count = N / lanes;
  using Part = Lanes<T, lanes>;
  union Codes {
    Pack<T, N> pack;
    typename Part::Codes part[count];
  };
  union Numbers {
    Pack<float, N> pack;
    typename Part::Words part[count];
  };
};
template <typename T, int N>
DEVICE Pack<float, N> decode(Pack<T, N> x) {
  using P = Parts<T, N>;
  const typename P::Codes codes = {x};
  typename P::Numbers numbers;
  UNROLL_LOOP
  for (int i = 0; i < P::count; ++i) numbers.part[i] = P::Part::decode(codes.part[i]);
  return numbers.pack;
}
template <typename T, int N>
DEVICE Pack<T, N> encode(Pack<float, N> x) {
  if constexpr (same<T, float>) {
    return x;
  } else {
    using P = Parts<T, N>;
    const typename P::Numbers numbers = {x};
    typename P::Codes codes;
    UNROLL_LOOP
    for (int i = 0; i < P::count; ++i) codes.part[i] = P::Part::encode(numbers.part[i]);
    return codes.pack;
  }
}

/// decode() and encode() for arithmetic: a NaN stays a NaN, but its bits may change.
template <typename T, int N>
DEVICE Pack<float, N> to_floats(Pack<T, N> x) {
  return decode(x);
}
template <typename T, int N>
DEVICE Pack<T, N> from_floats(Pack<float, N> x) {
  return encode<T, N>(x);
}
#else
/// N codes stored in words, so that they are loaded and stored as words.
template <typename Bits, int E, int M, int BIAS, Specials SPECIALS, int N>
struct alignas(N * sizeof(Bits)) Pack<SmallFloat<Bits, E, M, BIAS, SPECIALS>, N> {
  using Element = SmallFloat<Bits, E, M, BIAS, SPECIALS>;
  static constexpr int per_word = 4 / sizeof(Bits), width = 8 * sizeof(Bits);
  static_assert(N % per_word == 0, "whole words");
  u32 v[N / per_word];
  DEVICE Element get(int i) const {
    return {static_cast<Bits>(v[i / per_word] >> i % per_word * width)};
  }
  DEVICE void set(int i, Element x) {
    const int shift = i % per_word * width;
    v[i / per_word] = (v[i / per_word] & ~(u32{static_cast<Bits>(-1)} << shift)) |
                      static_cast<u32>(x.bits) << shift;
  }
};

/// Returns whether any of the numbers is a NaN.
template <int N>
DEVICE bool any_nan(Pack<float, N> x) {
  bool any = false;
  UNROLL_LOOP
  for (int i = 0; i < N; i += 2) any |= !(x.v[i] <= x.v[i + 1]) & !(x.v[i] > x.v[i + 1]);
  return any;
}

/// decode() and encode() for arithmetic: a NaN stays a NaN, but its bits may change.
template <typename T, int N>
DEVICE Pack<float, N> to_floats(Pack<T, N> x) {
  if constexpr (same<T, float>) {
    return x;
  } else {
    Pack<float, N> result;
    UNROLL_LOOP
    for (int i = 0; i < N; i += 2) {
      if constexpr (DecodeTwo<T>::native) {
        constexpr int per_word = Pack<T, N>::per_word;
        const u32 codes = x.v[i / per_word] >> i % per_word * (32 / per_word);
        const Two two = DecodeTwo<T>::numbers(codes);
        result.v[i] = two.low;
        result.v[i + 1] = two.high;
      } else {
        result.v[i] = x.get(i).decode();
        result.v[i + 1] = x.get(i + 1).decode();
      }
    }
    return result;
  }
}
template <typename T, int N>
DEVICE Pack<T, N> from_floats(Pack<float, N> x) {
  if constexpr (same<T, float>) {
    return x;
  } else {
    Pack<T, N> result = {};
    UNROLL_LOOP
    for (int i = 0; i < N; i += 2) {
      if constexpr (EncodeTwo<T>::native) {
        constexpr int per_word = Pack<T, N>::per_word;
        const u32 codes = EncodeTwo<T>::codes(x.v[i], x.v[i + 1]);
        result.v[i / per_word] |= codes << i % per_word * (32 / per_word);
      } else {
        result.set(i, T::encode(x.v[i]));
        result.set(i + 1, T::encode(x.v[i + 1]));
      }
    }
    return result;
  }
}

// NaNs are rare, so their replacement is skipped if the pack has none.
template <typename T, int N>
DEVICE Pack<float, N> decode(Pack<T, N> x) {
  Pack<float, N> result = to_floats(x);
  if constexpr (DecodeTwo<T>::native) {
    if (any_nan(result)) {
      UNROLL_LOOP
      for (int i = 0; i < N; ++i) {
        if (!(result.v[i] == result.v[i])) result.v[i] = x.get(i).decode_nan();
      }
    }
  }
  return result;
}
template <typename T, int N>
DEVICE Pack<T, N> encode(Pack<float, N> x) {
  Pack<T, N> result = from_floats<T, N>(x);
  if constexpr (EncodeTwo<T>::native) {
    if (any_nan(x)) {
      UNROLL_LOOP
      for (int i = 0; i < N; ++i) {
        if (!(x.v[i] == x.v[i])) result.set(i, T::encode_nan(x.v[i]));
      }
    }
  }
  return result;
}
#endif

/// Codes of fp8 as F16, exactly; a NaN stays a NaN.
template <typename T, int N>
DEVICE Pack<F16, N> to_halves(Pack<T, N> codes) {
#if !defined(ON_CPU)
  if constexpr (HalvesOfTwo<T>::native) {
    Pack<F16, N> result;
    UNROLL_LOOP
    for (int i = 0; i < N / 2; ++i) {
      result.v[i] = HalvesOfTwo<T>::halves(codes.v[i / 2] >> i % 2 * 16);
    }
    return result;
  }
#endif
  return from_floats<F16, N>(to_floats(codes));
}

/// Loads the N elements at `from`, in one access if they have at most PACK_BYTES. `from` must be
/// aligned to the size of all of them.
template <int N, typename T>
DEVICE Pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}
template <typename T, int N>
DEVICE void store_pack(T* to, Pack<T, N> pack) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

}  // namespace
