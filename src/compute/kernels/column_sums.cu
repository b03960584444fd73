// Sums over the rows of a matrix, in stripes that are then added in a fixed order: gradients of
// biases.
#include "rows.h"

namespace {

template <typename T>
DEVICE void column_stripes(float* partial, const T* x, u64 rows, u64 width, u64 stripes) {
  const Stripe stripe = rows_of(rows, block_index_y(), stripes);
  sum_over_rows<1, sum_columns>(
      stripe.begin, stripe.end, u64{block_index()} * sum_columns, width,
      [&](u64 row, u64 column, Floats* totals) {
        totals[0] = totals[0] + load_floats(x + row * width + column);
      },
      [&](u64 column, int, float total) { partial[block_index_y() * width + column] = total; });
}

template <typename T>
DEVICE void add_stripes(T* first, T* second, T* third, const float* partial, u64 width, u64 sums,
                        u64 stripes, int add) {
  const u64 columns = sums * width;
  sum_over_rows<1, stripe_columns>(
      0, stripes, u64{block_index()} * stripe_columns, columns,
      [&](u64 stripe, u64 column, Floats* totals) {
        totals[0] = totals[0] + load_pack<row_pack>(partial + stripe * columns + column);
      },
      [&](u64 column, int, float total) {
        const u64 sum = column / width;
        T* const result = sum == 0 ? first : sum == 1 ? second : third;
        if (result == nullptr) return;
        T* const to = result + column % width;
        *to = encode<T>(add != 0 ? decode(*to) + total : total);
      });
}

}  // namespace

/// partial[stripes, width]: sums over the rows of a stripe. Grid: tiles of sum_columns columns x
/// stripes.
#define COLUMN_SUMS_KERNELS(T, suffix)                                                            \
  KERNEL(column_stripes_##suffix, float* partial, const T* x, u64 rows, u64 width, u64 stripes) { \
    column_stripes(partial, x, rows, width, stripes);                                             \
  }                                                                                               \
  /* first, second, third [width] = the sums of partial[stripes, sums, width] over the stripes,   \
     `add`ed to what is there, unless null. Grid: tiles of stripe_columns columns. */             \
  KERNEL(add_stripes_##suffix, T* first, T* second, T* third, const float* partial, u64 width,    \
         u64 sums, u64 stripes, int add) {                                                        \
    add_stripes(first, second, third, partial, width, sums, stripes, add);                        \
  }
COLUMN_SUMS_KERNELS(float, f32)
COLUMN_SUMS_KERNELS(Bf16, bf16)
COLUMN_SUMS_KERNELS(F16, f16)
