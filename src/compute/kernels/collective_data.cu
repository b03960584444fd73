// Data of collective operations in closed form: what each rank contributes to element `i`, and the
// result, which does not depend on the order of reduction. Contributions are integers chosen so
// that every partial result is exact in the element's type; an average divides a single power of
// two.
#include "conversions.h"
#include "element_hash.h"
#include "wave.h"

namespace {

/// The order of assay::Reduction (src/ranks/collective/communicator.h).
enum Reduce { SUM, PROD, MIN, MAX, AVG };

/// `largest`: every integer up to it is exact in T, and everything computed from it here fits in an
/// i64.
template <typename T, u64 LARGEST, bool SIGNED>
struct Whole {
  static constexpr u64 largest = LARGEST;
  static constexpr bool is_signed = SIGNED, is_float = false;
  static DEVICE T of(i64 x) { return static_cast<T>(x); }
  static DEVICE T quotient(i64 x, u32 n) { return static_cast<T>(x / static_cast<i64>(n)); }
};
template <typename T, u64 LARGEST>
struct Floating {
  static constexpr u64 largest = LARGEST;
  static constexpr bool is_signed = true, is_float = true;
  static DEVICE T of(i64 x) { return static_cast<T>(x); }
  static DEVICE T quotient(i64 x, u32 n) { return static_cast<T>(static_cast<double>(x) / n); }
};
template <typename T, u64 LARGEST>
struct Narrow {
  static constexpr u64 largest = LARGEST;
  static constexpr bool is_signed = true, is_float = true;
  static DEVICE T of(i64 x) { return encode<T>(static_cast<float>(x)); }
  static DEVICE T quotient(i64 x, u32 n) {
    // Rounded twice, which is safe: 1/n is never close enough to the midpoint of two narrow numbers
    // to matter.
    return encode<T>(static_cast<float>(static_cast<double>(x) / n));
  }
};
template <typename T>
struct Exact;
template <>
struct Exact<double> : Floating<double, 1ull << 53> {};
template <>
struct Exact<float> : Floating<float, 1ull << 24> {};
template <>
struct Exact<F16> : Narrow<F16, 2048> {};
template <>
struct Exact<Bf16> : Narrow<Bf16, 256> {};
template <>
struct Exact<E4m3> : Narrow<E4m3, 16> {};
template <>
struct Exact<E5m2> : Narrow<E5m2, 8> {};
template <>
struct Exact<E4m3Fnuz> : Narrow<E4m3Fnuz, 16> {};
template <>
struct Exact<E5m2Fnuz> : Narrow<E5m2Fnuz, 8> {};
template <>
struct Exact<i8> : Whole<i8, 127, true> {};
template <>
struct Exact<u8> : Whole<u8, 255, false> {};
template <>
struct Exact<i32> : Whole<i32, 0x7FFFFFFF, true> {};
template <>
struct Exact<u32> : Whole<u32, 0xFFFFFFFF, false> {};
template <>
struct Exact<i64> : Whole<i64, 1ull << 62, true> {};
template <>
struct Exact<u64> : Whole<u64, 1ull << 62, false> {};

/// The ranks' contributions to one element. Only the ranks in a window, whose position depends on
/// the element, contribute a value; the others contribute the neutral element. So results stay
/// small for any number of ranks, and are cheap to check.
template <typename T>
struct Element {
  u64 hash;
  u32 ranks;
  int reduction;
  u32 first;  // rank of the window

  DEVICE Element(u64 i, u64 seed, u32 n, int reduce)
      : hash(hash_at(i, seed)),
        ranks(n),
        reduction(reduce),
        first(static_cast<u32>(((hash >> 32) * n) >> 32)) {}

  DEVICE u32 window() const {
    // Products of 6 factors of magnitude 2 reach 64, of 5 factors up to 3 reach 243.
    const u32 most = reduction == AVG ? 1 : reduction != PROD ? 8 : Exact<T>::is_signed ? 6 : 5;
    return most < ranks ? most : ranks;
  }
  /// 1 ... most, of either sign if T is signed.
  DEVICE i64 draw(u64 random, u64 most) const {
    if (most == 0) return 0;
    const i64 magnitude = static_cast<i64>(1 + (random >> 1) % most);
    return Exact<T>::is_signed && (random & 1) != 0 ? -magnitude : magnitude;
  }
  DEVICE i64 neutral() const {
    constexpr i64 largest = static_cast<i64>(Exact<T>::largest);
    switch (reduction) {
      case PROD:
        return 1;
      case MIN:
        return largest;
      case MAX:
        return Exact<T>::is_signed ? -largest : 0;
      default:
        return 0;
    }
  }
  DEVICE i64 active(u32 rank) const {
    const u64 random = mix(hash + (rank + 1) * 0xD1B54A32D192ED03ull);
    switch (reduction) {
      case SUM:
        return draw(random, Exact<T>::largest / 8);
      case PROD:  // never 1, so that a missing rank is detected
        if (!Exact<T>::is_signed) return static_cast<i64>(2 + (random >> 32) % 2);
        return (random >> 32) % 3 == 0 ? -1 : draw(random, 1) * 2;
      case AVG:
        // The average of multiples of n, or of a power of two: rounded only once, in any order.
        if (!Exact<T>::is_float) return draw(random, Exact<T>::largest / ranks) * ranks;
        return draw(random, 1) * (i64{1} << ((random >> 32) % 4));
      default:
        return draw(random, Exact<T>::largest);
    }
  }
  DEVICE i64 part(u32 rank) const {
    const u32 place = rank >= first ? rank - first : rank + ranks - first;
    return place < window() ? active(rank) : neutral();
  }
  DEVICE i64 reduced() const {
    i64 result = neutral();
    for (u32 place = 0; place < window(); ++place) {
      const u32 rank = first + place < ranks ? first + place : first + place - ranks;
      const i64 x = active(rank);
      if (reduction == PROD) {
        result *= x;
      } else if (reduction == MIN) {
        result = x < result ? x : result;
      } else if (reduction == MAX) {
        result = x > result ? x : result;
      } else {
        result += x;
      }
    }
    return result;
  }
};

/// The three kinds of data, each a function from an element's index to its bits.
template <typename T, typename Word>
struct Part {  // a rank's contribution to a reduction
  u64 seed;
  u32 rank, ranks;
  int reduction;
  DEVICE Word operator()(u64 i) const {
    return bits_as<Word>(Exact<T>::of(Element<T>(i, seed, ranks, reduction).part(rank)));
  }
};
template <typename T, typename Word>
struct Reduced {  // the result of the reduction
  u64 seed;
  u32 ranks;
  int reduction;
  DEVICE Word operator()(u64 i) const {
    const i64 x = Element<T>(i, seed, ranks, reduction).reduced();
    return bits_as<Word>(reduction == AVG ? Exact<T>::quotient(x, ranks) : Exact<T>::of(x));
  }
};
template <typename Word>
struct Bits {  // data without arithmetic: arbitrary bits
  u64 seed;
  u32 rank;
  DEVICE Word operator()(u64 i) const {
    return static_cast<Word>(mix(hash_at(i, seed) + (rank + 1) * 0xD1B54A32D192ED03ull));
  }
};

template <typename Word, typename Value>
DEVICE void fill(Word* x, u64 n, u64 first, Value value) {
  const Tiles tiles = my_tiles(n, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i < n) x[i] = value(first + i);
  }
}

template <typename Word, typename Value>
DEVICE void check(u64* found, const Word* x, u64 n, u64 first, Value value) {
  const Tiles tiles = my_tiles(n, block_threads());
  u64 wrong = 0, least = n;
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= n || x[i] == value(first + i)) continue;
    if (i < least) least = i;
    ++wrong;
  }
  store_findings(found, wrong, least);
}

}  // namespace

/// fill_*: x[0 ... n) become elements first ... first + n of that kind of data. check_*: found[2 *
/// block]: number of elements of x that differ in any bit; found[2 * block + 1]: the lowest index
/// of one (n if none). All kinds take the same arguments, even if they do not use them.
#define DATA_KERNELS(kind, Word, value)                                                            \
  KERNEL(fill_##kind, Word* x, u64 n, u64 first, u64 seed, u32 rank, u32 ranks, int reduction) {   \
    static_cast<void>(rank + ranks + static_cast<u32>(reduction));                                 \
    fill(x, n, first, value);                                                                      \
  }                                                                                                \
  KERNEL(check_##kind, u64* found, const Word* x, u64 n, u64 first, u64 seed, u32 rank, u32 ranks, \
         int reduction) {                                                                          \
    static_cast<void>(rank + ranks + static_cast<u32>(reduction));                                 \
    check(found, x, n, first, value);                                                              \
  }
#define TYPE_KERNELS(T, Word, suffix)                                              \
  DATA_KERNELS(part_##suffix, Word, (Part<T, Word>{seed, rank, ranks, reduction})) \
  DATA_KERNELS(reduced_##suffix, Word, (Reduced<T, Word>{seed, ranks, reduction}))

DATA_KERNELS(bits_1, u8, (Bits<u8>{seed, rank}))
DATA_KERNELS(bits_2, u16, (Bits<u16>{seed, rank}))
DATA_KERNELS(bits_4, u32, (Bits<u32>{seed, rank}))
DATA_KERNELS(bits_8, u64, (Bits<u64>{seed, rank}))
TYPE_KERNELS(double, u64, f64)
TYPE_KERNELS(float, u32, f32)
TYPE_KERNELS(F16, u16, f16)
TYPE_KERNELS(Bf16, u16, bf16)
TYPE_KERNELS(E4m3, u8, e4m3)
TYPE_KERNELS(E5m2, u8, e5m2)
TYPE_KERNELS(E4m3Fnuz, u8, e4m3_fnuz)
TYPE_KERNELS(E5m2Fnuz, u8, e5m2_fnuz)
TYPE_KERNELS(i8, u8, i8)
TYPE_KERNELS(u8, u8, u8)
TYPE_KERNELS(i32, u32, i32)
TYPE_KERNELS(u32, u32, u32)
TYPE_KERNELS(i64, u64, i64)
TYPE_KERNELS(u64, u64, u64)
