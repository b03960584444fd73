// Layer norm with the residual addition before it, and its gradients. A block's threads hold a row
// in their registers.
#include "fast_math.h"
#include "rows.h"

// Threads of a block, at most, and packs of a row that each of them holds: the host starts blocks
// that hold a row (layer_norm.cpp).
#define NORM_THREADS 512
#if defined(ON_CPU)
#define NORM_PACKS 1024  // the one thread holds them all
#else
#define NORM_PACKS 2
#endif

namespace {

constexpr float epsilon = 1e-5f;

/// body(j, first element) for each pack of a row that this thread holds, its j-th.
template <typename Body>
DEVICE void for_my_packs(u64 width, Body body) {
  UNROLL_LOOP
  for (u32 j = 0; j < NORM_PACKS; ++j) {
    const u64 i = (thread_index() + u64{j} * block_threads()) * row_pack;
    if (i >= width) break;
    body(j, i);
  }
}

template <typename T>
DEVICE void add_norm(T* normed, float* statistics, T* sum, const T* stream, const T* branch,
                     const T* weight, const T* bias, u64 rows, u64 width) {
  SHARED float scratch[2][most_waves];
  const float share = 1.0f / static_cast<float>(width);
  const Tiles mine = my_tiles(rows, 1);
  for (u64 row = mine.begin; row < mine.end; row += mine.step) {
    const u64 at = row * width;
    Floats x[NORM_PACKS];
    float total = 0;
    for_my_packs(width, [&](u32 j, u64 i) {
      x[j] = load_floats(stream + at + i);
      if (branch != nullptr) {
        const Pack<T, row_pack> stored = encode<T, row_pack>(x[j] + load_floats(branch + at + i));
        store_pack(sum + at + i, stored);
        x[j] = decode(stored);  // as it was rounded
      }
      total += x[j].sum();
    });
    const float mean = block_reduce(total, Sum{}, scratch[0]) * share;
    float squares = 0;
    for_my_packs(width, [&](u32 j, u64) {
      x[j] = x[j] + floats_of(-mean);
      squares += (x[j] * x[j]).sum();
    });
    const float inverse = fast_rsqrt(block_reduce(squares, Sum{}, scratch[1]) * share + epsilon);
    for_my_packs(width, [&](u32 j, u64 i) {
      store_floats(normed + at + i,
                   x[j] * floats_of(inverse) * load_floats(weight + i) + load_floats(bias + i));
    });
    if (thread_index() == 0) {
      statistics[2 * row] = mean;
      statistics[2 * row + 1] = inverse;
    }
    barrier();  // scratch is free for the next row
  }
}

/// The rows of stripe `stripe` of `stripes`.
struct Stripe {
  u64 begin, end;
};
DEVICE Stripe rows_of(u64 rows, u64 stripe, u64 stripes) {
  return {rows * stripe / stripes, rows * (stripe + 1) / stripes};
}

template <typename T>
DEVICE void norm_backward(T* dx, float* partial, const T* dy, const T* x, const float* statistics,
                          const T* weight, u64 rows, u64 width, int add) {
  using Sums = Pack<float, 2>;
  SHARED Sums scratch[2][most_waves];
  const float share = 1.0f / static_cast<float>(width);
  Floats weights[NORM_PACKS], to_weight[NORM_PACKS], to_bias[NORM_PACKS];
  for_my_packs(width, [&](u32 j, u64 i) {
    weights[j] = load_floats(weight + i);
    to_weight[j] = to_bias[j] = floats_of(0);
  });
  const Stripe stripe = rows_of(rows, block_index(), grid_blocks());
  for (u64 row = stripe.begin; row < stripe.end; ++row) {
    const u64 at = row * width;
    const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    Floats g[NORM_PACKS], unit[NORM_PACKS];
    Pack<T, row_pack> before[NORM_PACKS];
    Sums sums = broadcast<float, 2>(0);  // of g, and of g times unit
    for_my_packs(width, [&](u32 j, u64 i) {
      if (add != 0) before[j] = load_pack<row_pack>(dx + at + i);
      const Floats d = load_floats(dy + at + i);
      unit[j] = (load_floats(x + at + i) + floats_of(-mean)) * floats_of(inverse);
      to_weight[j] = to_weight[j] + d * unit[j];
      to_bias[j] = to_bias[j] + d;
      g[j] = d * weights[j];
      sums.v[0] += g[j].sum();
      sums.v[1] += (g[j] * unit[j]).sum();
    });
    // A wave that is already at the next row does not write where others still read.
    sums = block_reduce(sums, Sum{}, scratch[row % 2]);
    const float mean_g = sums.v[0] * share, mean_gx = sums.v[1] * share;
    for_my_packs(width, [&](u32 j, u64 i) {
      const Floats change =
          (g[j] + floats_of(-mean_g) + unit[j] * floats_of(-mean_gx)) * floats_of(inverse);
      store_floats(dx + at + i, add != 0 ? decode(before[j]) + change : change);
    });
  }
  float* const mine = partial + u64{block_index()} * 2 * width;
  for_my_packs(width, [&](u32 j, u64 i) {
    store_pack(mine + i, to_weight[j]);
    store_pack(mine + width + i, to_bias[j]);
  });
}

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
DEVICE void add_stripes(T* first, T* second, const float* partial, u64 width, u64 columns,
                        u64 stripes, int add) {
  sum_over_rows<1, stripe_columns>(
      0, stripes, u64{block_index()} * stripe_columns, columns,
      [&](u64 stripe, u64 column, Floats* totals) {
        totals[0] = totals[0] + load_pack<row_pack>(partial + stripe * columns + column);
      },
      [&](u64 column, int, float total) {
        T* const to = column < width ? first + column : second + (column - width);
        *to = encode<T>(add != 0 ? decode(*to) + total : total);
      });
}

}  // namespace

/// normed[rows, width] = the layer norm of stream + branch, whose sum goes to `sum`; without a
/// branch (null) that of stream, and sum is not written. statistics[rows, 2]: mean and 1 /
/// deviation for the backward pass.
#define NORM_KERNELS(T, suffix)                                                                    \
  KERNEL_OF(NORM_THREADS, 1, add_norm_##suffix, T* normed, float* statistics, T* sum,              \
            const T* stream, const T* branch, const T* weight, const T* bias, u64 rows,            \
            u64 width) {                                                                           \
    add_norm(normed, statistics, sum, stream, branch, weight, bias, rows, width);                  \
  }                                                                                                \
  /* dx = the gradient of the norm's input x, `add`ed to what is there. partial[blocks, 2, width]: \
     sums over the rows of a block, which lie together, of dy times the normed x, and of dy:       \
     gradients of weight and bias. */                                                              \
  KERNEL_OF(NORM_THREADS, 1, norm_backward_##suffix, T* dx, float* partial, const T* dy,           \
            const T* x, const float* statistics, const T* weight, u64 rows, u64 width, int add) {  \
    norm_backward(dx, partial, dy, x, statistics, weight, rows, width, add);                       \
  }                                                                                                \
  /* partial[stripes, width]: sums over the rows of a stripe. Grid: tiles of sum_columns columns   \
     x stripes. */                                                                                 \
  KERNEL(column_stripes_##suffix, float* partial, const T* x, u64 rows, u64 width, u64 stripes) {  \
    column_stripes(partial, x, rows, width, stripes);                                              \
  }                                                                                                \
  /* first[width], and second from there on, = the sums of partial[stripes, columns] over the      \
     stripes, `add`ed to what is there. Grid: tiles of stripe_columns columns. */                  \
  KERNEL(add_stripes_##suffix, T* first, T* second, const float* partial, u64 width, u64 columns,  \
         u64 stripes, int add) {                                                                   \
    add_stripes(first, second, partial, width, columns, stripes, add);                             \
  }
NORM_KERNELS(float, f32)
NORM_KERNELS(Bf16, bf16)
