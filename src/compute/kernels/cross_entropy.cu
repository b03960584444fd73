// Cross-entropy loss and its gradient, which replaces the logits in place. One block per row.
#include "fast_math.h"
#include "rows.h"
#include "step_state.h"

namespace {

template <typename T>
DEVICE void cross_entropy(T* logits, float* losses, const i32* targets, BatchChoice choice,
                          u64 rows, u64 vocabulary, u64 columns, float factor) {
  SHARED float scratch[2][most_waves];
  targets += choice.index() * rows;
  const Tiles mine = my_tiles(rows, 1);
  for (u64 row = mine.begin; row < mine.end; row += mine.step) {
    T* const x = logits + row * columns;
    const u64 target = static_cast<u64>(targets[row]);
    const float of_target = decode(x[target]);
    // Each thread scales its sum to its own largest logit so far.
    float largest = of_target, total = 0;
    for_each_pack(columns, [&](u64 i) {
      const Floats values = load_floats(x + i);
      float here = largest;
      UNROLL_LOOP
      for (int e = 0; e < row_pack; ++e) {
        const float value = values.v[e];
        here = i + e < vocabulary && value > here ? value : here;
      }
      total *= fast_exp(largest - here);
      largest = here;
      UNROLL_LOOP
      for (int e = 0; e < row_pack; ++e) {
        if (i + e < vocabulary) total += fast_exp(values.v[e] - largest);
      }
    });
    const float of_all = block_reduce(largest, Maximum{}, scratch[0]);
    total = block_reduce(total * fast_exp(largest - of_all), Sum{}, scratch[1]);
    if (thread_index() == 0) {
      losses[row] = of_all + fast_log2(total) / log2_e - of_target;
    }
    const float inverse = factor / total;
    for_each_pack(columns, [&](u64 i) {
      Floats values = load_floats(x + i);
      UNROLL_LOOP
      for (int e = 0; e < row_pack; ++e) {
        const float p = fast_exp(values.v[e] - of_all) * inverse;
        values.v[e] = i + e < vocabulary ? (i + e == target ? p - factor : p) : 0.0f;
      }
      store_floats(x + i, values);
    });
    barrier();  // scratch is free for the next row
  }
}

}  // namespace

/// logits[rows, columns], of which `vocabulary` columns are real: losses[row] = -log of the
/// probability of its target; then logits = factor * (probability - 1 at the target), 0 in the
/// other columns.
#define CROSS_ENTROPY_KERNEL(T, suffix)                                                            \
  KERNEL(cross_entropy_##suffix, T* logits, float* losses, const i32* targets, BatchChoice choice, \
         u64 rows, u64 vocabulary, u64 columns, float factor) {                                    \
    cross_entropy(logits, losses, targets, choice, rows, vocabulary, columns, factor);             \
  }
CROSS_ENTROPY_KERNEL(float, f32)
CROSS_ENTROPY_KERNEL(Bf16, bf16)

/// history[step] = the mean of the losses of this step's passes; one block. Steps beyond `length`
/// begin at its start again.
KERNEL(record_loss, float* history, const float* losses, BatchChoice choice, u64 rows, u64 length) {
  SHARED float scratch[most_waves];
  float total = 0;
  for (u64 i = thread_index(); i < rows; i += block_threads()) total += losses[i];
  total = block_reduce(total, Sum{}, scratch);
  if (thread_index() != 0) return;
  float* const place = history + choice.state->step % length;
  const float mean = total / static_cast<float>(rows * choice.accumulate);
  *place = choice.pass == 0 ? mean : *place + mean;
}
