// Matrices for GEMM: fills them with a pattern on the device, and recomputes samples of a product
// in double from the same elements that were multiplied.
#include "conversions.h"
#include "element_hash.h"
#include "wave.h"

namespace {

/// The sum of four 16-bit numbers.
DEVICE u32 sum_of_quarters(u64 x) {
  return static_cast<u32>((x & 0xFFFF) + ((x >> 16) & 0xFFFF) + ((x >> 32) & 0xFFFF) + (x >> 48));
}

enum Pattern { ZEROS, ONES, INTEGERS, NORMAL };

/// Element `i` of a matrix: INTEGERS are -2 ... 2, equally likely. NORMAL is the sum of eight
/// uniform numbers with mean 0 and variance 1 (excess kurtosis -0.15): integer arithmetic up to the
/// last step, so that every device gives the same bits.
DEVICE float pattern_value(u64 i, u64 seed, int pattern) {
  if (pattern == ZEROS) return 0;
  if (pattern == ONES) return 1;
  const u64 h = hash_at(i, seed);
  if (pattern == INTEGERS) return static_cast<float>(static_cast<i32>(((h >> 32) * 5) >> 32) - 2);
  const u32 sum = sum_of_quarters(h) + sum_of_quarters(mix(h + 0x9E3779B97F4A7C15ull));
  constexpr float inverse_deviation = 9.3441e-06f;  // 1 / (2 * 65536 * sqrt(8 / 12))
  return static_cast<float>(static_cast<i32>(2 * sum) - 8 * 65535) * inverse_deviation;
}

constexpr u64 tile_columns = 4096;

/// Calls body(row, column) for every element of rows x columns; the threads of a block share tiles
/// within one row.
template <typename Body>
DEVICE void for_each_element(u64 rows, u64 columns, Body body) {
  const u64 per_row = (columns + tile_columns - 1) / tile_columns;
  const Tiles tiles = my_tiles(rows * per_row, 1);
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 row = tile / per_row, first = tile % per_row * tile_columns;
    const u64 end = first + tile_columns < columns ? first + tile_columns : columns;
    for (u64 column = first + thread_index(); column < end; column += block_threads()) {
      body(row, column);
    }
  }
}

/// Part of a matrix whose rows have `pitch` numbers; it begins with number `first` of them all.
template <typename T>
struct Fill {
  T* x;
  u64 ld, first, pitch, seed;
  int pattern;
  float scale;
  DEVICE void operator()(u64 row, u64 column) const {
    const float value = pattern_value(first + row * pitch + column, seed, pattern);
    x[row * ld + column] = encode<T>(value * scale);
  }
};

template <typename T>
DEVICE void fill(u64 rows, u64 columns, Fill<T> fill) {
  if (fill.pattern == NORMAL) {  // known inside the loop, which becomes one of vectors on CPUs
    fill.pattern = NORMAL;
    for_each_element(rows, columns, fill);
  } else {
    for_each_element(rows, columns, fill);
  }
}

/// Counts elements that a product left unwritten, and padding that it overwrote.
template <typename Word>
struct Count {
  const Word* d;
  u64 columns, ld;
  Word poison;
  u64 *wrong, *first;
  DEVICE void operator()(u64 row, u64 column) const {
    const u64 i = row * ld + column;
    if ((d[i] == poison) == (column >= columns)) return;
    if (i < *first) *first = i;
    ++*wrong;
  }
};

template <typename Word>
DEVICE void count_unwritten(u64* found, const Word* d, u64 rows, u64 columns, u64 ld, u64 poison) {
  u64 wrong = 0, first = rows * ld;
  for_each_element(rows, ld,
                   Count<Word>{d, columns, ld, static_cast<Word>(poison), &wrong, &first});
  store_findings(found, wrong, first);
}

/// out[2 * i] = the sum of term(i, j) over j < count, out[2 * i + 1] = the sum of their squares.
template <typename Term>
DEVICE void sum_terms(double* out, u64 sums, u64 count, Term term) {
  SHARED double scratch[2][most_waves];
  const Tiles mine = my_tiles(sums, 1);
  for (u64 i = mine.begin; i < mine.end; i += mine.step) {
    double sum = 0, squares = 0;
    for (u64 j = thread_index(); j < count; j += block_threads()) {
      const double x = term(i, j);
      sum += x;
      squares += x * x;
    }
    sum = block_reduce(sum, Sum{}, scratch[0]);
    squares = block_reduce(squares, Sum{}, scratch[1]);
    if (thread_index() == 0) {
      out[2 * i] = sum;
      out[2 * i + 1] = squares;
    }
    barrier();
  }
}

struct Product {
  const u64* where;
  const void* a;
  const void* b;
  int type_a, type_b;
  u64 row_a, inner_a, batch_a, column_b, inner_b, batch_b;
  DEVICE double operator()(u64 i, u64 j) const {
    const u64* at = where + 3 * i;  // batch, row, column
    return element_at(a, type_a, at[0] * batch_a + at[1] * row_a + j * inner_a) *
           element_at(b, type_b, at[0] * batch_b + at[2] * column_b + j * inner_b);
  }
};

struct Line {
  const void* x;
  int type;
  u64 line_stride, stride;
  DEVICE double operator()(u64 i, u64 j) const {
    return element_at(x, type, i * line_stride + j * stride);
  }
};

}  // namespace

/// x: rows of `columns` elements, `ld` apart; the padding between them is not written.
#define FILL_KERNEL(T, suffix)                                                               \
  KERNEL(fill_##suffix, T* x, u64 rows, u64 columns, u64 ld, u64 first, u64 pitch, u64 seed, \
         int pattern, float scale) {                                                         \
    fill(rows, columns, Fill<T>{x, ld, first, pitch, seed, pattern, scale});                 \
  }
FILL_KERNEL(double, f64)
FILL_KERNEL(float, f32)
FILL_KERNEL(F16, f16)
FILL_KERNEL(Bf16, bf16)
FILL_KERNEL(E4m3, e4m3)
FILL_KERNEL(E5m2, e5m2)
FILL_KERNEL(E4m3Fnuz, e4m3_fnuz)
FILL_KERNEL(E5m2Fnuz, e5m2_fnuz)
FILL_KERNEL(i8, i8)

/// found[2 * block]: number of elements that still hold `poison`, or of padding that no longer
/// does; found[2 * block + 1]: the first such index (rows * ld if none). Named by element size in
/// bytes.
#define UNWRITTEN_KERNEL(Word, suffix)                                                       \
  KERNEL(count_unwritten_##suffix, u64* found, const Word* d, u64 rows, u64 columns, u64 ld, \
         u64 poison) {                                                                       \
    count_unwritten(found, d, rows, columns, ld, poison);                                    \
  }
UNWRITTEN_KERNEL(u8, 1)
UNWRITTEN_KERNEL(u16, 2)
UNWRITTEN_KERNEL(u32, 4)
UNWRITTEN_KERNEL(u64, 8)

/// For sample i at where[3 i ...] = batch, row, column: out[2 i] = sum over k of A[row,k]
/// B[k,column] and out[2 i + 1] the sum of the products' squares. Strides in elements.
KERNEL(sample_products, double* out, const u64* where, u64 samples, const void* a, int type_a,
       u64 row_a, u64 inner_a, u64 batch_a, const void* b, int type_b, u64 column_b, u64 inner_b,
       u64 batch_b, u64 k) {
  sum_terms(
      out, samples, k,
      Product{where, a, b, type_a, type_b, row_a, inner_a, batch_a, column_b, inner_b, batch_b});
}

/// out[i] = element (row, column) of matrix `batch`, with where as above.
KERNEL(gather_elements, double* out, const u64* where, u64 samples, const void* x, int type, u64 ld,
       u64 batch_stride) {
  const Tiles tiles = my_tiles(samples, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= samples) continue;
    const u64* at = where + 3 * i;
    out[i] = element_at(x, type, at[0] * batch_stride + at[1] * ld + at[2]);
  }
}

/// out[2 i] = sum over j < count of x[i * line_stride + j * stride], out[2 i + 1] the sum of
/// squares.
KERNEL(sum_lines, double* out, const void* x, int type, u64 lines, u64 line_stride, u64 count,
       u64 stride) {
  sum_terms(out, lines, count, Line{x, type, line_stride, stride});
}
