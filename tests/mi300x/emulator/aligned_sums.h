// CDNA 3's sums of f16, bf16, xf32, fp8 and bf8: products are aligned to the largest, truncated and
// added exactly (measured, see matrix_sums.h). One assumption has not been measured: a sparse
// product takes its kept values in the order in which registers hold them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "emulator/matrix_sums.h"

namespace mi300x {

// ---- Columns ----

/// One value of each of `width` columns.
template <class T, int width>
struct ColumnsOf {
  typedef T type [[gnu::vector_size(width * sizeof(T))]];
};
template <class T, int width>
using Columns = typename ColumnsOf<T, width>::type;

template <int width, class T>
inline Columns<T, width> load(const T* values) {
  Columns<T, width> columns;
  std::memcpy(&columns, values, sizeof columns);
  return columns;
}
template <class Vector>
inline Vector greater(Vector a, Vector b) {
  return a > b ? a : b;
}
template <class Vector>
inline Vector lesser(Vector a, Vector b) {
  return a < b ? a : b;
}

// ---- Any values ----

// Loops over columns contain no branches, so that the compiler vectorizes them.

/// A value as significand and exponent: 1 <= |significand| < 2, or less at `least_exponent`. 0,
/// infinities and NaNs have significand 0 and an exponent that is never the largest.
struct Parts {
  float significand;
  int exponent;
};
inline bool is_finite(float x) {
  return (std::bit_cast<u32>(x) & 0x7F800000) != 0x7F800000;
}
inline float float_power_of_two(int exponent) {
  return std::bit_cast<float>((exponent + 127) << 23);
}
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(i64(exponent + 1023) << 52);
}
inline Parts take_apart(float x, int least_exponent) {
  const u32 bits = std::bit_cast<u32>(x);
  const int exponent = std::max(int(bits >> 23 & 0xFF) - 127, least_exponent);
  const int half = exponent >> 1;  // in two steps, because 2^-exponent may not be a normal number
  const float scaled = x * float_power_of_two(-half) * float_power_of_two(half - exponent);
  const bool usable = ((bits & 0x7FFFFFFF) != 0) & is_finite(x);
  return {std::bit_cast<float>(std::bit_cast<u32>(scaled) & (0 - u32(usable))),
          usable ? exponent : -1000};
}

constexpr int aligned_bits = 24;  ///< of the fraction that products and C keep
/// How far below the products' exponent C is ignored.
template <bool halves>
constexpr int far_from_c = halves ? aligned_bits + 1 : 10000;
/// A double without these bits keeps 31 bits behind the leading one.
constexpr i64 lowest_bits = (i64{1} << 21) - 1;

/// Returns x or 0 by a bit mask, because a choice between doubles would compile to a branch.
inline double keep_if(bool keep, double x) {
  return std::bit_cast<double>(std::bit_cast<u64>(x) & (0 - u64(keep)));
}

/// Returns the multiple of `step` below x, like std::floor without branches. `shift` is 1.5 * 2^52
/// * step, so large that only such multiples remain beside it, or 0; then x is unchanged.
inline double cut_downwards(double x, double step, double shift) {
  const double nearest = (x + shift) - shift;
  return nearest - keep_if(nearest > x, step);
}

/// Adds the aligned sum of products, `sum` * 2^(exponent - 24), to C as the last adder does. Both
/// are aligned to the larger one, cut downwards to 31 bits of fraction, and the sum is rounded to
/// nearest even. `far_c` is how far below the products C is ignored.
inline float add_aligned(i32 sum, int exponent, float c, int far_c) {
  const Parts part = take_apart(c, -126);
  const int c_exponent = std::max(part.exponent, -126);
  const int largest = std::max(exponent, c_exponent);
  const int below = std::max(exponent - largest, -200);
  const double products = double(sum) * power_of_two(below - aligned_bits);
  // 52 bits remain behind the largest one's point, which is all there are until it lies 28 bits
  // above.
  const double shift = keep_if(below < aligned_bits - 52, 0x1.8p0);
  const double cut_products = cut_downwards(products, 0x1p-52, shift);
  const double near_c = keep_if(c_exponent >= largest - far_c, 1.0);
  const double scaled_c =
      double(part.significand) * near_c * power_of_two(std::max(c_exponent - largest, -200));
  const double addend = cut_downwards(scaled_c, 0x1p-24, 0x1.8p28);
  i64 bits = std::bit_cast<i64>(cut_products + addend);
  bits = (bits + (bits >> 63 & lowest_bits)) & ~lowest_bits;
  return float(std::bit_cast<double>(bits) * power_of_two(largest));
}

/// The matrices of a block as significands.
template <int lines, int width>
struct Significands {
  float significand[lines][width];

  Significands(const float (&values)[lines][width], int least_exponent) {
    for (int line = 0; line < lines; ++line)
      for (int n = 0; n < width; ++n)
        significand[line][n] = take_apart(values[line][n], least_exponent).significand;
  }
};

/// The exponents of a block's matrix, found by take_apart(), and their range.
template <int lines, int width>
struct Exponents {
  int exponent[lines][width];
  int largest, least;  ///< of the elements that are not 0
  bool finite;

  Exponents(const float (&values)[lines][width], int least_exponent) {
    using Int = Columns<i32, 4>;
    constexpr Int zero = {};
    Int largest_seen = zero - 1000, least_seen = zero + 1000, strange = zero;
    for (int line = 0; line < lines; ++line)
      for (int n = 0; n < width; n += 4) {
        const Int magnitude = std::bit_cast<Int>(load<4>(values[line] + n)) & 0x7FFFFFFF;
        const Int found = greater((magnitude >> 23) - 127, zero + least_exponent);
        const Int usable = (magnitude > 0) & (magnitude < 0x7F800000);
        const Int kept = usable ? found : zero - 1000;
        std::memcpy(exponent[line] + n, &kept, sizeof kept);
        largest_seen = greater(largest_seen, kept);
        least_seen = lesser(least_seen, usable ? found : zero + 1000);
        strange |= magnitude >= 0x7F800000;
      }
    largest = std::max({largest_seen[0], largest_seen[1], largest_seen[2], largest_seen[3]});
    least = std::min({least_seen[0], least_seen[1], least_seen[2], least_seen[3]});
    finite = (strange[0] | strange[1] | strange[2] | strange[3]) == 0;
  }
};

/// Returns the largest exponent of products, column by column.
template <int size>
void raise_exponents(int* __restrict largest, int a, const int* __restrict b) {
  for (int j = 0; j < size; ++j) largest[j] = std::max(largest[j], a + b[j]);
}

/// Returns products aligned to the largest exponent, cut towards zero.
template <int size>
void add_cut_products(i32* __restrict sum, const int* __restrict largest, float a, int a_exponent,
                      const float* __restrict b, const int* __restrict b_exponent) {
  for (int j = 0; j < size; ++j) {
    const int below = std::max(a_exponent + b_exponent[j] - largest[j], -60);
    sum[j] += i32(a * b[j] * float_power_of_two(below + aligned_bits));
  }
}

template <int size>
void add_to_c(float* __restrict c, const i32* __restrict sum, const int* __restrict exponent,
              int far_c) {
  for (int j = 0; j < size; ++j) c[j] = add_aligned(sum[j], exponent[j], c[j], far_c);
}

/// Returns the sum if there are infinities, NaNs or products of 2^128 and more; otherwise a finite
/// number.
template <int size, int depth, int rows>
float unusual_sum(const Block<float, size, depth, rows>& block, int i, int j, int from, int to) {
  double sum = block.c[i][j];
  for (int place = from; place < to; ++place) {
    const double product = double(block.a[i][place]) * double(block.b[block.row_of_b[i][place]][j]);
    sum += std::fabs(product) >= 0x1p128 ? std::copysign(HUGE_VAL, product) : product;
  }
  return std::isfinite(sum) ? 0.0f : float(sum);
}

template <int length, bool halves, int size, int depth, int rows>
void add_any_products(Block<float, size, depth, rows>& block, const Exponents<size, depth>& a,
                      const Exponents<rows, size>& b, int least_a, int least_b) {
  const Significands<size, depth> a_parts(block.a, least_a);
  const Significands<rows, size> b_parts(block.b, least_b);
  constexpr int ways = halves ? 2 : 1;
  const bool usual = a.finite && b.finite && a.largest + b.largest < 126;

  for (int i = 0; i < size; ++i)
    for (int from = 0; from < depth; from += length) {
      const u8* row = block.row_of_b[i];
      int exponent[ways][size];
      i32 sum[ways][size] = {};
      for (auto& way : exponent) std::fill(way, way + size, -2000);
      for (int place = from; place < from + length; ++place)
        raise_exponents<size>(exponent[place % ways], a.exponent[i][place], b.exponent[row[place]]);
      for (int place = from; place < from + length; ++place)
        add_cut_products<size>(sum[place % ways], exponent[place % ways],
                               a_parts.significand[i][place], a.exponent[i][place],
                               b_parts.significand[row[place]], b.exponent[row[place]]);
      if constexpr (halves)  // the smaller half is aligned to the larger and rounded down
        for (int j = 0; j < size; ++j) {
          const int common = std::max(exponent[0][j], exponent[1][j]);
          sum[0][j] = (sum[0][j] >> std::min(common - exponent[0][j], 31)) +
                      (sum[1][j] >> std::min(common - exponent[1][j], 31));
          exponent[0][j] = common;
        }
      u32 strange = u32(!usual);
      for (int j = 0; j < size; ++j) strange |= u32(!is_finite(block.c[i][j]));
      float special[size] = {};
      if (strange)
        for (int j = 0; j < size; ++j) special[j] = unusual_sum(block, i, j, from, from + length);
      add_to_c<size>(block.c[i], sum[0], exponent[0], far_from_c<halves>);
      if (strange)
        for (int j = 0; j < size; ++j)
          if (special[j] != 0) block.c[i][j] = special[j];
    }
}

// ---- The common case, many columns at a time ----

/// Computes add_aligned() with integer shifts for four columns, which is how many doubles a vector
/// register holds.
inline Columns<float, 4> add_four(Columns<i32, 4> sum, Columns<i32, 4> exponent,
                                  Columns<float, 4> c, int far_c) {
  using Int = Columns<i32, 4>;
  using Double = Columns<double, 4>;
  using Bits = Columns<i64, 4>;
  constexpr Int none = {};
  const Int bits = std::bit_cast<Int>(c), field = bits >> 23 & 0xFF;
  const Int c_exponent = greater(field, none + 1) - 127;
  const Int magnitude = (bits & 0x7FFFFF) | (field > 0 ? none + 0x800000 : none);
  const Int significand = bits < 0 ? -magnitude : magnitude;
  const Int largest = greater(exponent, c_exponent);
  const Int c_below = largest - c_exponent;
  const Int near_c = c_below > far_c ? none : significand * 2;
  const Int cut_c = near_c >> lesser(c_below, none + 31);
  // Products keep 52 bits behind the largest one's point, which is all of them until it lies 28
  // bits above theirs.
  const Int excess = greater(largest - exponent - (52 - aligned_bits), none);
  const Int cut_sum = sum >> lesser(excess, none + 31);
  // The value of one unit of each operand, encoded as a double's exponent.
  const Bits sum_unit = __builtin_convertvector(exponent + excess - aligned_bits + 1023, Bits);
  const Bits c_unit = __builtin_convertvector(largest - aligned_bits + 1023, Bits);
  const Double total =
      __builtin_convertvector(cut_sum, Double) * std::bit_cast<Double>(sum_unit << 52) +
      __builtin_convertvector(cut_c, Double) * std::bit_cast<Double>(c_unit << 52);
  const Bits whole = std::bit_cast<Bits>(total);
  const Bits cut = (whole + (whole < 0 ? Bits{} + lowest_bits : Bits{})) & ~lowest_bits;
  return __builtin_convertvector(std::bit_cast<Double>(cut), Columns<float, 4>);
}

/// Returns whether add_usual_products() may be used: no sum becomes infinite, and products and
/// their alignment factors are normal floats.
template <int size, int depth, int rows>
bool is_usual(const Block<float, size, depth, rows>& block, const Exponents<size, depth>& a,
              const Exponents<rows, size>& b) {
  if (!a.finite || !b.finite || a.largest + b.largest > 100 || a.least + b.least < -100)
    return false;
  u32 largest = 0;
  for (const auto& row : block.c)
    for (const float c : row) largest = std::max(largest, std::bit_cast<u32>(c) & 0x7FFFFFFF);
  return largest < std::bit_cast<u32>(0x1p120f);
}

/// Computes what add_any_products() does. Products are exact here, so that one factor aligns and
/// cuts each.
template <int length, bool halves, int size, int depth, int rows>
void add_usual_products(Block<float, size, depth, rows>& block, const Exponents<size, depth>& a,
                        const Exponents<rows, size>& b) {
  constexpr int width = std::min(size, 8), ways = halves ? 2 : 1;
  using Int = Columns<i32, width>;
  using Float = Columns<float, width>;
  for (int i = 0; i < size; ++i)
    for (int from = 0; from < depth; from += length) {
      const auto row = [&](int place) { return depth == rows ? place : block.row_of_b[i][place]; };
      for (int j = 0; j < size; j += width) {
        Int exponent[ways], sum[ways] = {};
        Float scale[ways];
        for (Int& way : exponent) way = Int{} - 2000;
        for (int place = from; place < from + length; place += ways)
          for (int way = 0; way < ways; ++way)
            exponent[way] = greater(exponent[way], load<width>(b.exponent[row(place + way)] + j) +
                                                       a.exponent[i][place + way]);
        for (int way = 0; way < ways; ++way)  // below -100 all products are 0
          scale[way] = std::bit_cast<Float>(
              (aligned_bits + 127 - greater(exponent[way], Int{} - 100)) << 23);
        for (int place = from; place < from + length; place += ways)
          for (int way = 0; way < ways; ++way)
            sum[way] += __builtin_convertvector(
                load<width>(block.b[row(place + way)] + j) * block.a[i][place + way] * scale[way],
                Int);
        if constexpr (halves) {
          const Int common = greater(exponent[0], exponent[1]);
          sum[0] = (sum[0] >> lesser(common - exponent[0], Int{} + 31)) +
                   (sum[1] >> lesser(common - exponent[1], Int{} + 31));
          exponent[0] = common;
        }
        i32 sums[width], exponents[width];
        std::memcpy(sums, sum, sizeof sums);
        std::memcpy(exponents, exponent, sizeof exponents);
        for (int part = 0; part < width; part += 4) {
          float* c = block.c[i] + j + part;
          const auto added = add_four(load<4>(sums + part), load<4>(exponents + part), load<4>(c),
                                      far_from_c<halves>);
          std::memcpy(c, &added, sizeof added);
        }
      }
    }
}

/// Aligns `length` products at a time to the largest of them, cuts them towards zero and adds them
/// exactly; C is added last. fp8 and bf8 (`halves`) sum products with even and odd indices
/// separately.
template <int length_at_most, bool halves, int size, int depth, int rows>
void add_aligned_products(Block<float, size, depth, rows>& block, int least_a, int least_b) {
  constexpr int length = std::min(length_at_most, depth);
  const Exponents<size, depth> a(block.a, least_a);
  const Exponents<rows, size> b(block.b, least_b);
  if (is_usual(block, a, b))
    add_usual_products<length, halves>(block, a, b);
  else
    add_any_products<length, halves>(block, a, b, least_a, least_b);
}

}  // namespace mi300x
