// Cross-entropy loss and its gradient, which replaces the logits in place. One block per row.
#include "fast_math.h"
#include "rows.h"
#include "step_state.h"

#define CROSS_ENTROPY_THREADS 512  // of a block, at most

namespace {

constexpr float least = -1e30f;  // a logit whose probability is 0

/// A few packs of a row, which a thread loads together: that hides the memory's latency.
template <typename T>
struct Packs {
  Pack<T, row_pack> pack[UNROLL];
  u64 first, apart;

  /// The packs from element `begin` on, as many elements apart as the block reads at once.
  DEVICE Packs(const T* x, u64 begin, u64 columns) : first(begin) {
    apart = u64{block_threads()} * row_pack;
    UNROLL_LOOP
    for (u64 j = 0; j < UNROLL; ++j) {
      if (at(j) < columns) pack[j] = load_pack<row_pack>(x + at(j));
    }
  }
  DEVICE u64 at(u64 j) const { return first + j * apart; }
  /// The logits of pack j; those beyond the vocabulary have the probability 0.
  DEVICE Floats logits(u64 j, u64 vocabulary) const {
    Floats result = floats_of(least);
    if (at(j) < vocabulary) result = decode(pack[j]);
    UNROLL_LOOP
    for (int e = 0; e < row_pack; ++e) {
      if (at(j) + e >= vocabulary) result.v[e] = least;
    }
    return result;
  }
};

/// body(packs) for all of a row, shared by the block's threads.
template <typename T, typename Body>
DEVICE void for_all_packs(const T* x, u64 columns, Body body) {
  const u64 apart = u64{block_threads()} * row_pack;
  for (u64 i = u64{thread_index()} * row_pack; i < columns; i += UNROLL * apart) {
    body(Packs<T>(x, i, columns));
  }
}

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
    for_all_packs(x, columns, [&](const Packs<T>& packs) {
      float here = largest;
      UNROLL_LOOP
      for (u64 j = 0; j < UNROLL; ++j) {
        const Floats values = packs.logits(j, vocabulary);
        UNROLL_LOOP
        for (int e = 0; e < row_pack; ++e) here = values.v[e] > here ? values.v[e] : here;
      }
      total *= fast_exp(largest - here);
      largest = here;
      UNROLL_LOOP
      for (u64 j = 0; j < UNROLL; ++j) {
        const Floats values = packs.logits(j, vocabulary);
        UNROLL_LOOP
        for (int e = 0; e < row_pack; ++e) total += fast_exp(values.v[e] - largest);
      }
    });
    const float of_all = block_reduce(largest, Maximum{}, scratch[0]);
    total = block_reduce(total * fast_exp(largest - of_all), Sum{}, scratch[1]);
    if (thread_index() == 0) {
      losses[row] = of_all + fast_log2(total) / log2_e - of_target;
    }
    const float inverse = factor / total;
    for_all_packs(x, columns, [&](const Packs<T>& packs) {
      UNROLL_LOOP
      for (u64 j = 0; j < UNROLL; ++j) {
        if (packs.at(j) >= columns) continue;
        Floats values = packs.logits(j, vocabulary);
        UNROLL_LOOP
        for (int e = 0; e < row_pack; ++e) {
          const float p = fast_exp(values.v[e] - of_all) * inverse;
          values.v[e] = packs.at(j) + e == target ? p - factor : p;
        }
        store_floats(x + packs.at(j), values);
      }
    });
    barrier();  // scratch is free for the next row
  }
}

}  // namespace

/// logits[rows, columns], of which `vocabulary` columns are real: losses[row] = -log of the
/// probability of its target; then logits = factor * (probability - 1 at the target), 0 in the
/// other columns.
#define CROSS_ENTROPY_KERNEL(T, suffix)                                                    \
  KERNEL_OF(CROSS_ENTROPY_THREADS, 2, cross_entropy_##suffix, T* logits, float* losses,    \
            const i32* targets, BatchChoice choice, u64 rows, u64 vocabulary, u64 columns, \
            float factor) {                                                                \
    cross_entropy(logits, losses, targets, choice, rows, vocabulary, columns, factor);     \
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
