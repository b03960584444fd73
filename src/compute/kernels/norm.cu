// Layer norm with the residual addition before it, and its gradients. One block per row.
#include "fast_math.h"
#include "rows.h"

namespace {

constexpr float epsilon = 1e-5f;

template <typename T>
DEVICE void add_norm(T* normed, float* statistics, T* sum, const T* stream, const T* branch,
                     const T* weight, const T* bias, u64 rows, u64 width) {
  SHARED float scratch[2][most_waves];
  const float share = 1.0f / static_cast<float>(width);
  const Tiles mine = my_tiles(rows, 1);
  for (u64 row = mine.begin; row < mine.end; row += mine.step) {
    const u64 at = row * width;
    const T* const x = branch != nullptr ? sum : stream;
    float total = 0;
    for_each_pack(width, [&](u64 i) {
      if (branch != nullptr) {
        store_floats(sum + at + i, load_floats(stream + at + i) + load_floats(branch + at + i));
      }
      total += load_floats(x + at + i).sum();  // as it was rounded
    });
    const float mean = block_reduce(total, Sum{}, scratch[0]) * share;
    float squares = 0;
    for_each_pack(width, [&](u64 i) {
      const Floats distance = load_floats(x + at + i) + floats_of(-mean);
      squares += (distance * distance).sum();
    });
    const float inverse = fast_rsqrt(block_reduce(squares, Sum{}, scratch[1]) * share + epsilon);
    for_each_pack(width, [&](u64 i) {
      const Floats unit = (load_floats(x + at + i) + floats_of(-mean)) * floats_of(inverse);
      store_floats(normed + at + i, unit * load_floats(weight + i) + load_floats(bias + i));
    });
    if (thread_index() == 0) {
      statistics[2 * row] = mean;
      statistics[2 * row + 1] = inverse;
    }
    barrier();  // scratch is free for the next row
  }
}

template <typename T>
DEVICE void norm_backward(T* dx, const T* dy, const T* x, const float* statistics, const T* weight,
                          u64 rows, u64 width, int add) {
  SHARED float scratch[2][most_waves];
  const float share = 1.0f / static_cast<float>(width);
  const Tiles mine = my_tiles(rows, 1);
  for (u64 row = mine.begin; row < mine.end; row += mine.step) {
    const u64 at = row * width;
    const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    const auto unit_at = [&](u64 i) {
      return (load_floats(x + at + i) + floats_of(-mean)) * floats_of(inverse);
    };
    float sum = 0, sum_with_unit = 0;
    for_each_pack(width, [&](u64 i) {
      const Floats g = load_floats(dy + at + i) * load_floats(weight + i);
      sum += g.sum();
      sum_with_unit += (g * unit_at(i)).sum();
    });
    const float mean_g = block_reduce(sum, Sum{}, scratch[0]) * share;
    const float mean_gx = block_reduce(sum_with_unit, Sum{}, scratch[1]) * share;
    for_each_pack(width, [&](u64 i) {
      const Floats g = load_floats(dy + at + i) * load_floats(weight + i);
      const Floats change =
          (g + floats_of(-mean_g) + unit_at(i) * floats_of(-mean_gx)) * floats_of(inverse);
      store_floats(dx + at + i, add != 0 ? load_floats(dx + at + i) + change : change);
    });
    barrier();
  }
}

/// The rows of this block's stripe.
struct Stripe {
  u64 begin, end;
};
DEVICE Stripe my_stripe(u64 rows, u64 stripes) {
  const u64 stripe = block_index_y();
  return {rows * stripe / stripes, rows * (stripe + 1) / stripes};
}

template <typename T>
DEVICE void norm_gradient_stripes(float* partial, const T* dy, const T* x, const float* statistics,
                                  u64 rows, u64 width, u64 stripes) {
  const Stripe stripe = my_stripe(rows, stripes);
  sum_over_rows<2>(
      stripe.begin, stripe.end, u64{block_index()} * sum_columns, width,
      [&](u64 row, u64 column, Floats* totals) {
        const Floats d = load_floats(dy + row * width + column);
        const Floats unit =
            (load_floats(x + row * width + column) + floats_of(-statistics[2 * row])) *
            floats_of(statistics[2 * row + 1]);
        totals[0] = totals[0] + d * unit;
        totals[1] = totals[1] + d;
      },
      [&](u64 column, int sum, float total) {
        partial[(block_index_y() * 2 + sum) * width + column] = total;
      });
}

template <typename T>
DEVICE void column_stripes(float* partial, const T* x, u64 rows, u64 width, u64 stripes) {
  const Stripe stripe = my_stripe(rows, stripes);
  sum_over_rows<1>(
      stripe.begin, stripe.end, u64{block_index()} * sum_columns, width,
      [&](u64 row, u64 column, Floats* totals) {
        totals[0] = totals[0] + load_floats(x + row * width + column);
      },
      [&](u64 column, int, float total) { partial[block_index_y() * width + column] = total; });
}

template <typename T>
DEVICE void add_stripes(T* result, const float* partial, u64 width, u64 stride, u64 stripes,
                        int add) {
  const Tiles tiles = my_tiles(width, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= width) continue;
    float total = add != 0 ? decode(result[i]) : 0;
    for (u64 stripe = 0; stripe < stripes; ++stripe) total += partial[stripe * stride + i];
    result[i] = encode<T>(total);
  }
}

}  // namespace

/// normed[rows, width] = the layer norm of stream + branch, whose sum goes to `sum`; without a
/// branch (null) that of stream, and sum is not written. statistics[rows, 2]: mean and 1 /
/// deviation for the backward pass.
#define NORM_KERNELS(T, suffix)                                                                    \
  KERNEL(add_norm_##suffix, T* normed, float* statistics, T* sum, const T* stream,                 \
         const T* branch, const T* weight, const T* bias, u64 rows, u64 width) {                   \
    add_norm(normed, statistics, sum, stream, branch, weight, bias, rows, width);                  \
  }                                                                                                \
  /* dx = the gradient of the norm's input x, `add`ed to what is there. */                         \
  KERNEL(norm_backward_##suffix, T* dx, const T* dy, const T* x, const float* statistics,          \
         const T* weight, u64 rows, u64 width, int add) {                                          \
    norm_backward(dx, dy, x, statistics, weight, rows, width, add);                                \
  }                                                                                                \
  /* partial[stripes, 2, width]: sums over the rows of a stripe of dy times the normed x, and of   \
     dy: gradients of weight and bias. Grid: tiles of columns x stripes. */                        \
  KERNEL(norm_gradient_stripes_##suffix, float* partial, const T* dy, const T* x,                  \
         const float* statistics, u64 rows, u64 width, u64 stripes) {                              \
    norm_gradient_stripes(partial, dy, x, statistics, rows, width, stripes);                       \
  }                                                                                                \
  /* partial[stripes, width]: sums over the rows of a stripe. */                                   \
  KERNEL(column_stripes_##suffix, float* partial, const T* x, u64 rows, u64 width, u64 stripes) {  \
    column_stripes(partial, x, rows, width, stripes);                                              \
  }                                                                                                \
  /* result[i] = the sum of partial[s * stride + i] over the stripes, `add`ed to what is there. */ \
  KERNEL(add_stripes_##suffix, T* result, const float* partial, u64 width, u64 stride,             \
         u64 stripes, int add) {                                                                   \
    add_stripes(result, partial, width, stride, stripes, add);                                     \
  }
NORM_KERNELS(float, f32)
NORM_KERNELS(Bf16, bf16)
