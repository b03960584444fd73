// The softmax of attention whose keys come in steps (Dao et al. 2022): what a wave keeps of its
// queries from step to step. Flash attention's kernels share it.
#pragma once

#include "flash_tiles.h"

namespace {

/// The score of a key that a query does not see. Differences of scores stay finite.
constexpr float unseen = -1e30f;

/// Sets the scores of keys that the wave's queries do not see: those after a query and, if
/// `documents`, those before its document. Scores are [queries, keys]; `query` and `key` are the
/// first ones in their sequence. starts[queries]: where the documents of the queries begin.
template <typename Scores>
DEVICE void hide_unseen_keys(Scores& scores, u64 query, u64 key, bool documents,
                             const i32* starts) {
  if (key + Scores::columns > query) {  // causal mask: some keys come after some queries
    const int distance = static_cast<int>(query) - static_cast<int>(key);
    scores.for_each([&](int i, int j, float& score) {
      if (j > i + distance) score = unseen;
    });
  }
  if (documents && key < static_cast<u64>(starts[Scores::rows - 1])) {
    scores.for_each([&](int i, int j, float& score) {
      if (static_cast<i32>(key) + j < starts[i]) score = unseen;
    });
  }
}

/// The softmax of a wave's rows so far. Sums: the tile of the sums that weights are for.
template <typename Sums>
struct RunningSoftmax {
  using Rows = typename Sums::Rows;
  float scale, to_log2;  ///< of scores; from a score to the exponent of 2
  Rows largest, total;   ///< score; sum of weights, each relative to the largest score

  DEVICE explicit RunningSoftmax(float scale_of_scores)
      : scale(scale_of_scores), to_log2(scale_of_scores * log2_e) {
    UNROLL_LOOP
    for (int s = 0; s < Sums::row_slots; ++s) {
      largest.slot[s] = unseen;
      total.slot[s] = 0;
    }
  }

  /// Turns the scores of a step into weights relative to the largest score so far. Returns, for
  /// each row, the factor for sums of earlier weights.
  template <typename Scores>
  DEVICE Rows weigh(Scores& scores, bool documents) {
    const auto tops = scores.reduce_rows(Maximum{});
    Rows shrink, base;
    UNROLL_LOOP
    for (int s = 0; s < Sums::row_slots; ++s) {
      const float top = larger(largest.slot[s], tops.slot[s]);
      shrink.slot[s] = fast_exp2((largest.slot[s] - top) * to_log2);
      largest.slot[s] = top;
      // A query that has seen no key of its document yet has weights 0.
      base.slot[s] = documents && top < -1e29f ? 0 : top * to_log2;
    }
    scores.for_each_in_rows(
        [&](int slot, float& score) { score = fast_exp2(score * to_log2 - base.slot[slot]); });
    const auto here = scores.reduce_rows(Sum{});
    UNROLL_LOOP
    for (int s = 0; s < Sums::row_slots; ++s) {
      total.slot[s] = total.slot[s] * shrink.slot[s] + here.slot[s];
    }
    return shrink;
  }

  /// Divides sums of weights times values by the sums of weights.
  DEVICE void normalize(Sums& sums) const {
    Rows inverse;
    UNROLL_LOOP
    for (int s = 0; s < Sums::row_slots; ++s) inverse.slot[s] = 1 / total.slot[s];
    multiply_rows(sums, inverse);
  }

  /// Writes log_sum[heads of all sequences, sequence], unless it is null: the log of the sum of
  /// exp(scale * score), for those of the wave's queries of `head`, from `query` on, that exist.
  DEVICE void write_log_sum(float* log_sum, u64 head, u64 query, u64 sequence) const {
    if (log_sum == nullptr || !Sums::first_in_row()) return;
    Sums::for_each_row([&](int slot, int i) {
      const u64 row = query + i;
      if (row >= sequence) return;
      log_sum[head * sequence + row] =
          largest.slot[slot] * scale + fast_log2(total.slot[slot]) / log2_e;
    });
  }

  /// Multiplies each row of sums by its factor.
  DEVICE static void multiply_rows(Sums& sums, const Rows& factors) {
    sums.for_each_in_rows([&](int slot, float& sum) { sum *= factors.slot[slot]; });
  }
};

}  // namespace
