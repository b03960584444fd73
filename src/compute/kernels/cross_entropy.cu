// Cross-entropy loss and its gradient, which replaces the logits in place. One block per row.
#include "fast_math.h"
#include "rows.h"
#include "step_state.h"

#define CROSS_ENTROPY_THREADS 512  // maximum threads per block

namespace {

constexpr float least = -1e30f;  // a logit whose probability is 0

/// A few packs of a row that a thread loads together, which hides the memory's latency.
template <typename T>
struct Packs {
  Pack<T, row_pack> pack[UNROLL];
  u32 first, apart;

  /// Loads the packs from element `begin` on; they are as far apart as the block reads at once.
  DEVICE Packs(const T* x, u32 begin, u32 columns) : first(begin) {
    apart = block_threads() * row_pack;
    UNROLL_LOOP
    for (u32 j = 0; j < UNROLL; ++j) {
      if (at(j) < columns) pack[j] = load_pack<row_pack>(x + at(j));
    }
  }
  DEVICE u32 at(u32 j) const { return first + j * apart; }
  DEVICE bool all_below(u32 limit) const { return at(UNROLL - 1) + row_pack <= limit; }
  /// Returns the logits of pack j. Unless all packs are WHOLE, columns beyond the vocabulary get
  /// probability 0.
  template <bool WHOLE>
  DEVICE Floats logits(u32 j, u32 vocabulary) const {
    if constexpr (WHOLE) return to_floats(pack[j]);
    if (at(j) >= vocabulary) return floats_of(least);
    Floats result = to_floats(pack[j]);
    UNROLL_LOOP
    for (int e = 0; e < row_pack; ++e) {
      if (at(j) + e >= vocabulary) result.v[e] = least;
    }
    return result;
  }
};

/// The largest logit that a thread has read, and the sum of exp(logit - largest).
struct Softmax {
  float largest, total = 0;
  DEVICE explicit Softmax(float logit) : largest(logit) {}

  template <bool WHOLE, typename T>
  DEVICE void add(const Packs<T>& packs, u32 vocabulary) {
    float here = largest;
    UNROLL_LOOP
    for (u32 j = 0; j < UNROLL; ++j) {
      const Floats values = packs.template logits<WHOLE>(j, vocabulary);
      UNROLL_LOOP
      for (int e = 0; e < row_pack; ++e) here = larger(values.v[e], here);
    }
    total *= fast_exp(largest - here);
    largest = here;
    const float base = here * log2_e;
    UNROLL_LOOP
    for (u32 j = 0; j < UNROLL; ++j) {
      const Floats values = packs.template logits<WHOLE>(j, vocabulary);
      UNROLL_LOOP
      for (int e = 0; e < row_pack; ++e) total += fast_exp2(values.v[e] * log2_e - base);
    }
  }
};

/// Replaces logits by factor * probability, where the probability is 2^(logit log2(e) - base).
template <bool WHOLE, typename T>
DEVICE void store_probabilities(T* x, const Packs<T>& packs, u32 vocabulary, u64 columns,
                                float base, float factor) {
  UNROLL_LOOP
  for (u32 j = 0; j < UNROLL; ++j) {
    if (!WHOLE && packs.at(j) >= columns) return;
    Floats values = packs.template logits<WHOLE>(j, vocabulary);
    UNROLL_LOOP
    for (int e = 0; e < row_pack; ++e) {
      values.v[e] = fast_exp2(values.v[e] * log2_e - base) * factor;
    }
    store_floats(x + packs.at(j), values);
  }
}

template <typename T>
DEVICE void cross_entropy(T* logits, float* losses, const i32* targets, BatchChoice choice,
                          u64 rows, u64 rows_of_batch, u32 vocabulary, u32 columns) {
  SHARED float scratch[2][most_waves];
  targets += choice.index() * rows_of_batch;
  const float factor = 1 / choice.step_targets(rows_of_batch) * choice.state->loss_scale;
  const u32 together = block_threads() * row_pack * UNROLL;
  const u32 mine = thread_index() * row_pack;
  const Tiles tiles = my_tiles(rows, 1);
  for (u64 row = tiles.begin; row < tiles.end; row += tiles.step) {
    T* const x = logits + row * columns;
    const i32 target = targets[row];
    if (target < 0) {  // ignored
      for (u32 i = mine; i < columns; i += block_threads() * row_pack) {
        store_floats(x + i, floats_of(0));
      }
      if (thread_index() == 0) losses[row] = 0;
      continue;
    }
    const float of_target = decode(x[target]);
    Softmax softmax(of_target);
    for (u32 i = mine; i < columns; i += together) {
      const Packs<T> packs(x, i, columns);
      if (packs.all_below(vocabulary)) {
        softmax.template add<true>(packs, vocabulary);
      } else {
        softmax.template add<false>(packs, vocabulary);
      }
    }
    const float largest = block_reduce(softmax.largest, Maximum{}, scratch[0]);
    const float total =
        block_reduce(softmax.total * fast_exp(softmax.largest - largest), Sum{}, scratch[1]);
    const float base = largest * log2_e + fast_log2(total);
    for (u32 i = mine; i < columns; i += together) {
      const Packs<T> packs(x, i, columns);
      if (packs.all_below(vocabulary)) {
        store_probabilities<true>(x, packs, vocabulary, columns, base, factor);
      } else {
        store_probabilities<false>(x, packs, vocabulary, columns, base, factor);
      }
    }
    barrier();  // all probabilities are stored, and scratch is free for the next row
    if (thread_index() == 0) {
      losses[row] = base / log2_e - of_target;
      x[target] = encode<T>(fast_exp2(of_target * log2_e - base) * factor - factor);
    }
  }
}

}  // namespace

/// Input is logits[rows, columns], of which the first `vocabulary` columns are real, of consecutive
/// rows of a batch; targets are those of the first batch from the first of these rows on. losses[row] =
/// -log of the probability of the row's target. Then logits = loss scale / targets of the step *
/// (probability - 1 at the target), 0 in the other columns. A row whose target is negative has loss
/// and gradient 0. A row has fewer than 2^31 columns.
#define CROSS_ENTROPY_KERNEL(T, suffix)                                                    \
  KERNEL_OF(CROSS_ENTROPY_THREADS, 2, cross_entropy_##suffix, T* logits, float* losses,    \
            const i32* targets, BatchChoice choice, u64 rows, u64 rows_of_batch,           \
            u64 vocabulary, u64 columns) {                                                 \
    cross_entropy(logits, losses, targets, choice, rows, rows_of_batch,                    \
                  static_cast<u32>(vocabulary), static_cast<u32>(columns));                \
  }
CROSS_ENTROPY_KERNEL(float, f32)
CROSS_ENTROPY_KERNEL(Bf16, bf16)
CROSS_ENTROPY_KERNEL(F16, f16)
