// Softmax of causal attention whose scores are in memory, and its gradient. One block per row.
#include "fast_math.h"
#include "rows.h"

namespace {

/// The tokens that a token sees: itself and those before it, of its document if there are such.
struct Seen {
  u64 begin, end;
  DEVICE Seen(const i32* starts, u64 token)
      : begin(starts != nullptr ? static_cast<u64>(starts[token]) : 0), end(token + 1) {}
  DEVICE bool has(u64 token) const { return token >= begin && token < end; }
};

template <typename T>
DEVICE void causal_softmax(T* p, const float* scores, const i32* starts, u64 rows, u64 sequence,
                           float scale) {
  SHARED float scratch[2][most_waves];
  const Tiles mine = my_tiles(rows, 1);
  for (u64 row = mine.begin; row < mine.end; row += mine.step) {
    const float* const s = scores + row * sequence;
    const Seen seen(starts, row % sequence);
    float largest = s[seen.begin];
    for (u64 j = seen.begin + thread_index(); j < seen.end; j += block_threads()) {
      largest = largest > s[j] ? largest : s[j];
    }
    largest = block_reduce(largest, Maximum{}, scratch[0]);
    float total = 0;
    for (u64 j = seen.begin + thread_index(); j < seen.end; j += block_threads()) {
      total += fast_exp((s[j] - largest) * scale);
    }
    const float inverse = 1 / block_reduce(total, Sum{}, scratch[1]);
    for (u64 j = thread_index(); j < sequence; j += block_threads()) {
      const float x = seen.has(j) ? fast_exp((s[j] - largest) * scale) * inverse : 0.0f;
      p[row * sequence + j] = encode<T>(x);
    }
    barrier();  // scratch is free for the next row
  }
}

template <typename T>
DEVICE void causal_softmax_backward(T* ds, const float* dp, const T* p, const i32* starts,
                                    u64 rows, u64 sequence, float scale) {
  SHARED float scratch[most_waves];
  const Tiles mine = my_tiles(rows, 1);
  for (u64 row = mine.begin; row < mine.end; row += mine.step) {
    const u64 at = row * sequence;
    const Seen seen(starts, row % sequence);
    float total = 0;
    for (u64 j = seen.begin + thread_index(); j < seen.end; j += block_threads()) {
      total += decode(p[at + j]) * dp[at + j];
    }
    total = block_reduce(total, Sum{}, scratch);
    for (u64 j = thread_index(); j < sequence; j += block_threads()) {
      const float x = seen.has(j) ? scale * decode(p[at + j]) * (dp[at + j] - total) : 0.0f;
      ds[at + j] = encode<T>(x);
    }
    barrier();
  }
}

}  // namespace

/// Input are rows of `sequence` scores; row i of each `sequence` rows sees the columns up to i, from
/// starts[i] on unless that is null.
/// causal_softmax: p = softmax(scale * scores), 0 for columns that are not seen.
/// causal_softmax_backward: ds = scale * p (dp - sum of p dp), the gradient of the scores before
/// `scale`.
#define SOFTMAX_KERNELS(T, suffix)                                                         \
  KERNEL(causal_softmax_##suffix, T* p, const float* scores, const i32* starts, u64 rows,  \
         u64 sequence, float scale) {                                                      \
    causal_softmax(p, scores, starts, rows, sequence, scale);                              \
  }                                                                                        \
  KERNEL(causal_softmax_backward_##suffix, T* ds, const float* dp, const T* p,             \
         const i32* starts, u64 rows, u64 sequence, float scale) {                         \
    causal_softmax_backward(ds, dp, p, starts, rows, sequence, scale);                     \
  }
SOFTMAX_KERNELS(float, f32)
SOFTMAX_KERNELS(Bf16, bf16)
SOFTMAX_KERNELS(F16, f16)
