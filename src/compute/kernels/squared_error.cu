// Regression: selects the batch that a pass reads, and computes the mean squared error and its
// gradient, which replaces the results in place.
#include "rows.h"
#include "step_state.h"

namespace {

template <typename T>
DEVICE void choose_rows(T* x, const T* batches, BatchChoice choice, u64 elements) {
  batches += choice.index() * elements;
  for_each_pack_of_all(elements,
                       [&](u64 i) { store_pack(x + i, load_pack<row_pack>(batches + i)); });
}

template <typename T>
DEVICE void squared_error(T* y, float* losses, const T* targets, BatchChoice choice, u64 rows,
                          u64 width, float factor) {
  SHARED float scratch[most_waves];
  targets += choice.index() * rows * width;
  factor *= choice.state->loss_scale;
  const Tiles tiles = my_tiles(rows, 1);
  for (u64 row = tiles.begin; row < tiles.end; row += tiles.step) {
    float total = 0;
    for_each_pack(width, [&](u64 column) {
      const u64 i = row * width + column;
      Floats difference = load_floats(y + i);
      const Floats wanted = load_floats(targets + i);
      UNROLL_LOOP
      for (int e = 0; e < row_pack; ++e) difference.v[e] -= wanted.v[e];
      total += (difference * difference).sum();
      store_floats(y + i, difference * floats_of(factor));
    });
    total = block_reduce(total, Sum{}, scratch);
    if (thread_index() == 0) losses[row] = total / static_cast<float>(width);
    barrier();  // scratch is free for the next row
  }
}

}  // namespace

/// choose_rows: x[elements] = the batch that the pass reads. squared_error: losses[row] = the mean
/// of (y - target)^2 over the row; then y = factor * loss scale * (y - target). One block per row.
#define SQUARED_ERROR_KERNELS(T, suffix)                                                    \
  KERNEL(choose_rows_##suffix, T* x, const T* batches, BatchChoice choice, u64 elements) {  \
    choose_rows(x, batches, choice, elements);                                              \
  }                                                                                         \
  KERNEL(squared_error_##suffix, T* y, float* losses, const T* targets, BatchChoice choice, \
         u64 rows, u64 width, float factor) {                                               \
    squared_error(y, losses, targets, choice, rows, width, factor);                         \
  }
SQUARED_ERROR_KERNELS(float, f32)
SQUARED_ERROR_KERNELS(Bf16, bf16)
SQUARED_ERROR_KERNELS(F16, f16)
