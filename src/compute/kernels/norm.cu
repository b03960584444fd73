// Layer norm and RMS norm with the preceding residual addition, and their gradients; an RMS norm can
// leave codes of fp8. The threads of a block hold a row in registers.
#include "fast_math.h"
#include "quantized.h"

// Maximum threads of a block, and packs of a row that each thread holds. The host launches blocks
// that are large enough for a row (norm_shape.cpp).
#define NORM_THREADS 512
#if defined(ON_CPU)
#define NORM_PACKS 1024  // the one thread holds all packs
#else
#define NORM_PACKS 2
#endif

namespace {

constexpr float epsilon = 1e-5f;

/// Calls body(j, first element) for each pack of a row that this thread holds; j counts them.
template <typename Body>
DEVICE void for_my_packs(u64 width, Body body) {
  UNROLL_LOOP
  for (u32 j = 0; j < NORM_PACKS; ++j) {
    const u64 i = (thread_index() + u64{j} * block_threads()) * row_pack;
    if (i >= width) break;
    body(j, i);
  }
}

/// Returns the pack at `i` of stream + branch, rounded as it is stored in `sum`. Without a branch
/// (null) it returns that of stream.
template <typename T>
DEVICE Floats add_branch(T* sum, const T* stream, const T* branch, u64 i) {
  const Floats x = load_floats(stream + i);
  if (branch == nullptr) return x;
  const Pack<T, row_pack> stored = from_floats<T, row_pack>(x + load_floats(branch + i));
  store_pack(sum + i, stored);
  return to_floats(stored);
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
      x[j] = add_branch(sum, stream, branch, at + i);
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

/// Calls store(row, x, inverse) for each row of the RMS norm, of which this thread holds the packs x;
/// `inverse` is 1 / root mean square.
template <typename T, typename Store>
DEVICE void for_each_rms_normed_row(T* sum, const T* stream, const T* branch, const T* weight,
                                    u64 rows, u64 width, float epsilon_of_model, Store store) {
  SHARED float scratch[most_waves];
  const Tiles mine = my_tiles(rows, 1);
  let_next_kernel_begin();  // it may prefetch, but waits before it touches this output
  wait_for_previous_kernel();
  for (u64 row = mine.begin; row < mine.end; row += mine.step) {
    const u64 at = row * width;
    Floats x[NORM_PACKS];
    float squares = 0;
    for_my_packs(width, [&](u32 j, u64 i) {
      x[j] = add_branch(sum, stream, branch, at + i);
      squares += (x[j] * x[j]).sum();
    });
    const float mean = block_reduce(squares, Sum{}, scratch) / static_cast<float>(width);
    const float inverse = fast_rsqrt(mean + epsilon_of_model);
    for_my_packs(width, [&](u32 j, u64 i) {  // rounded before the weight, as in training
      const Floats unit = to_floats(from_floats<T, row_pack>(x[j] * floats_of(inverse)));
      x[j] = unit * load_floats(weight + i);
    });
    store(row, x, inverse);
    barrier();  // scratch is free for the next row
  }
}

template <typename T>
DEVICE void add_rms_norm(T* normed, float* statistics, T* sum, const T* stream, const T* branch,
                         const T* weight, u64 rows, u64 width, float epsilon_of_model) {
  for_each_rms_normed_row(
      sum, stream, branch, weight, rows, width, epsilon_of_model,
      [&](u64 row, const Floats(&x)[NORM_PACKS], float inverse) {
        for_my_packs(width, [&](u32 j, u64 i) { store_floats(normed + row * width + i, x[j]); });
        if (statistics == nullptr || thread_index() != 0) return;
        statistics[2 * row] = 0;
        statistics[2 * row + 1] = inverse;
      });
}

/// Rounds the norm to T, as if it had been stored, and then to codes.
template <typename T, typename Code>
DEVICE void quantized_rms_norm(Code* codes, float* factors, T* sum, const T* stream,
                               const T* branch, const T* weight, u64 rows, u64 width,
                               float epsilon_of_model) {
  SHARED float scratch[most_waves];
  for_each_rms_normed_row(
      sum, stream, branch, weight, rows, width, epsilon_of_model,
      [&](u64 row, Floats(&x)[NORM_PACKS], float) {
        float largest = 0;
        for_my_packs(width, [&](u32 j, u64) {
          x[j] = to_floats(from_floats<T, row_pack>(x[j]));
          largest = largest_magnitude(x[j], largest);
        });
        const auto scale = RowScale<Code>::of(block_reduce(largest, Maximum{}, scratch));
        for_my_packs(width, [&](u32 j, u64 i) {
          store_floats(codes + row * width + i, x[j] * floats_of(scale.inverse));
        });
        if (thread_index() == 0) factors[row] = scale.factor;
      });
}

template <typename T>
DEVICE void norm_backward(T* dx, float* partial, const T* dy, const T* x, const float* statistics,
                          const T* weight, u64 rows, u64 width, int add, int centred) {
  using Sums = Pack<float, 2>;
  using Raw = Pack<T, row_pack>;
  SHARED Sums scratch[2][most_waves];
  const float share = 1.0f / static_cast<float>(width);
  Floats to_weight[NORM_PACKS], to_bias[NORM_PACKS], of_dx[NORM_PACKS];
  for_my_packs(width, [&](u32 j, u64) { to_weight[j] = to_bias[j] = of_dx[j] = floats_of(0); });
  const Stripe stripe = rows_of(rows, block_index(), grid_blocks());
  for (u64 row = stripe.begin; row < stripe.end; ++row) {
    const u64 at = row * width;
    const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    Raw before[NORM_PACKS], outer[NORM_PACKS], inner[NORM_PACKS];
    for_my_packs(width, [&](u32 j, u64 i) {
      outer[j] = load_pack<row_pack>(dy + at + i);
      inner[j] = load_pack<row_pack>(x + at + i);
      if (add != 0) before[j] = load_pack<row_pack>(dx + at + i);
    });
    const auto unit = [&](u32 j) {
      return (to_floats(inner[j]) + floats_of(-mean)) * floats_of(inverse);
    };
    Sums sums = broadcast<float, 2>(0);  // sums of g = dy weight, and of g times the normed x
    for_my_packs(width, [&](u32 j, u64 i) {
      const Floats d = to_floats(outer[j]), normed = unit(j);
      to_weight[j] = to_weight[j] + d * normed;
      to_bias[j] = to_bias[j] + d;
      const Floats g = d * load_floats(weight + i);
      sums.v[0] += g.sum();
      sums.v[1] += (g * normed).sum();
    });
    // scratch alternates between rows, so that a wave that is already at the next row does not
    // write where others still read.
    sums = block_reduce(sums, Sum{}, scratch[row % 2]);
    const Floats mean_g = floats_of(centred != 0 ? -sums.v[0] * share : 0),
                 mean_gx = floats_of(-sums.v[1] * share);
    for_my_packs(width, [&](u32 j, u64 i) {
      const Floats g = to_floats(outer[j]) * load_floats(weight + i);
      Floats change = (g + mean_g + unit(j) * mean_gx) * floats_of(inverse);
      if (add != 0) change = to_floats(before[j]) + change;
      const Raw stored = from_floats<T, row_pack>(change);
      store_pack(dx + at + i, stored);
      of_dx[j] = of_dx[j] + to_floats(stored);
    });
  }
  float* const mine = partial + u64{block_index()} * 3 * width;
  for_my_packs(width, [&](u32 j, u64 i) {
    store_pack(mine + i, to_weight[j]);
    store_pack(mine + width + i, to_bias[j]);
    store_pack(mine + 2 * width + i, of_dx[j]);
  });
}

}  // namespace

/// Computes normed[rows, width] = layer norm of stream + branch, and stores that sum in `sum`.
/// Without a branch (null) it norms stream, and `sum` is not written. statistics[rows, 2] receives
/// the mean and 1 / deviation for the backward pass.
#define NORM_KERNELS(T, suffix)                                                                    \
  KERNEL_OF(NORM_THREADS, 1, add_norm_##suffix, T* normed, float* statistics, T* sum,              \
            const T* stream, const T* branch, const T* weight, const T* bias, u64 rows,            \
            u64 width) {                                                                           \
    add_norm(normed, statistics, sum, stream, branch, weight, bias, rows, width);                  \
  }                                                                                                \
  /* dx = the gradient of the norm's input x, `add`ed to what is there. partial[blocks, 3, width]: \
     sums over the rows of a block, which lie together, of dy times the normed x and of dy, the    \
     gradients of weight and bias, and of dx. `centred`: of layer norm, else of RMS norm, whose    \
     statistics have the mean 0. */                                                   \
  KERNEL_OF(NORM_THREADS, 1, norm_backward_##suffix, T* dx, float* partial, const T* dy,           \
            const T* x, const float* statistics, const T* weight, u64 rows, u64 width, int add,    \
            int centred) {                                                                         \
    norm_backward(dx, partial, dy, x, statistics, weight, rows, width, add, centred);              \
  }
NORM_KERNELS(float, f32)
NORM_KERNELS(Bf16, bf16)
NORM_KERNELS(F16, f16)

/// normed[rows, width] = (stream + branch) divided by its root mean square, times weight. `sum` is as
/// above; it may be the same array as `stream`. Unless null, statistics[rows, 2] receives 0 and 1 /
/// root mean square for the backward pass.
#define RMS_NORM_KERNEL(T, suffix)                                                                \
  KERNEL_OF(NORM_THREADS, 1, add_rms_norm_##suffix, T* normed, float* statistics, T* sum,         \
            const T* stream, const T* branch, const T* weight, u64 rows, u64 width,               \
            float epsilon_of_model) {                                                             \
    add_rms_norm(normed, statistics, sum, stream, branch, weight, rows, width, epsilon_of_model); \
  }

/// The norm as codes[rows, width] with factors[rows], as quantize_rows.cu makes them from it.
#define QUANTIZED_NORM_KERNEL(Code, code)                                                         \
  KERNEL_OF(NORM_THREADS, 1, add_rms_norm_##code##_bf16, Code* codes, float* factors, Bf16* sum,  \
            const Bf16* stream, const Bf16* branch, const Bf16* weight, u64 rows, u64 width,      \
            float epsilon_of_model) {                                                             \
    quantized_rms_norm(codes, factors, sum, stream, branch, weight, rows, width,                  \
                       epsilon_of_model);                                                         \
  }
QUANTIZED_NORM_KERNEL(E4m3, e4m3)
QUANTIZED_NORM_KERNEL(E4m3Fnuz, e4m3_fnuz)

RMS_NORM_KERNEL(float, f32)
RMS_NORM_KERNEL(Bf16, bf16)
RMS_NORM_KERNEL(F16, f16)
