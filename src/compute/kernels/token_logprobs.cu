// What log probabilities of tokens need: the sum of exp(logit - largest) over a row of logits, its
// likeliest tokens, and the logit of the token that was chosen.
//
// Each thread keeps the likeliest token of its own share of a row. The block's likeliest is the
// next one found, and only the thread that had it looks through its share again. So a row of n
// logits is read twice, the second time from a cache, and n / 1024 of it again for each token
// found: of 151,936 logits in bf16, 304 KB from memory and 300 bytes for each token.
#include "fast_math.h"
#include "rows.h"
#include "token_order.h"
#include "token_penalty.h"

#define LOGPROB_THREADS 1024

namespace {

/// A row of which log probabilities are wanted, and what is found, see
/// model/operations/token_logprobs.h.
struct LogprobRow {
  i32 row, count, first_penalty, penalties;
};
constexpr int most_logprobs = 20;
struct RowLogprobs {
  double sum;
  float largest, chosen;
  i32 tokens[most_logprobs];
  float logits[most_logprobs];
};

template <typename T>
DEVICE void likeliest(RowLogprobs* found, const T* logits, const LogprobRow* wanted, u64 count,
                      u64 vocabulary, u64 columns) {
  SHARED u64 scratch[2][most_waves];
  SHARED double sums[most_waves];
  const Tiles mine = my_tiles(count, 1);
  for (u64 i = mine.begin; i < mine.end; i += mine.step) {
    const LogprobRow how = wanted[i];
    const T* const of_row = logits + static_cast<u64>(how.row) * columns;
    RowLogprobs& result = found[i];
    const auto own_below = [&](u64 limit) {
      u64 best = 0;
      float of_best = float_of(0xFF800000);
      for_each_pack(vocabulary, [&](u64 at) {
        const Floats values = load_floats(of_row + at);
        for (u64 e = 0; e < row_pack && at + e < vocabulary; ++e) {
          if (values.v[e] < of_best) continue;  // most are, and logits are compared fastest
          const u64 one = candidate(values.v[e], at + e);
          if (one >= limit || one <= best) continue;
          best = one;
          of_best = values.v[e];
        }
      });
      return best;
    };
    u64 own = own_below(~u64{0});
    u64 best = block_reduce(own, Maximum{}, scratch[0]);
    const float largest = logit_of(best);
    double sum = 0;
    for_each_pack(vocabulary, [&](u64 at) {
      const Floats values = load_floats(of_row + at);
      float of_pack = 0;
      for (u64 e = 0; e < row_pack && at + e < vocabulary; ++e) {
        of_pack += fast_exp(values.v[e] - largest);
      }
      sum += double{of_pack};
    });
    sum = block_reduce(sum, Sum{}, sums);
    if (thread_index() == 0) {
      result.sum = sum;
      result.largest = largest;
    }
    for (i32 n = 0; n < how.count; ++n) {
      if (n > 0) best = block_reduce(own, Maximum{}, scratch[n % 2]);
      if (thread_index() == 0) {
        result.tokens[n] = token_of(best);
        result.logits[n] = logit_of(best);
      }
      if (own == best) own = own_below(best);  // it is this thread's: no two are equal
    }
    barrier();  // what is shared is free for the next row
  }
}

template <typename T>
DEVICE void chosen_logits(RowLogprobs* found, const i32* next, const T* logits,
                          const LogprobRow* wanted, u64 count, u64 columns,
                          const TokenPenalty* penalties) {
  const Tiles mine = my_tiles(count, 1);
  for (u64 i = mine.begin; i < mine.end; i += mine.step) {
    const LogprobRow of = wanted[i];
    const i32 row = of.row, token = next[row];
    if (thread_index() == 0) {
      found[i].chosen = decode(logits[static_cast<u64>(row) * columns + static_cast<u64>(token)]);
    }
    barrier();
    const TokenPenalty* const own = penalties + of.first_penalty;
    for (u64 p = thread_index(); p < static_cast<u64>(of.penalties); p += block_threads()) {
      if (own[p].token == token) found[i].chosen = own[p].logit;
    }
  }
}

}  // namespace

/// likeliest: found[i] = the sum over the first `vocabulary` logits of row wanted[i].row of
/// logits[rows, columns], and its wanted[i].count likeliest tokens, equal ones in ascending order;
/// there are at least this number of tokens. chosen_logits: found[i].chosen = the logit of
/// next[wanted[i].row], as it was before those of `penalties` that wanted[i] names. Rows must be
/// readable up to a multiple of eight.
#define LOGPROB_KERNELS(T, suffix)                                                          \
  KERNEL_OF(LOGPROB_THREADS, 1, likeliest_##suffix, RowLogprobs* found, const T* logits,    \
            const LogprobRow* wanted, u64 count, u64 vocabulary, u64 columns) {             \
    likeliest(found, logits, wanted, count, vocabulary, columns);                           \
  }                                                                                         \
  KERNEL(chosen_logits_##suffix, RowLogprobs* found, const i32* next, const T* logits,      \
         const LogprobRow* wanted, u64 count, u64 columns, const TokenPenalty* penalties) { \
    chosen_logits(found, next, logits, wanted, count, columns, penalties);                  \
  }
LOGPROB_KERNELS(float, f32)
LOGPROB_KERNELS(Bf16, bf16)
