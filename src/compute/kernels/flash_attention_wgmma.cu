// The causal attention of flash_attention.cu, computed by warpgroups (warpgroup_tile.h) with 64
// queries each. On Hopper their products read tiles from shared memory directly, while the group
// turns the previous scores into weights.

// Groups of a block, keys per step, and blocks that share a multiprocessor. On GPUs the host
// defines them (flash_attention.cpp).
#if defined(FLASH_GROUPS)
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define FLASH_GROUPS 2
#define FLASH_STEP 64
#define FLASH_BLOCKS 1
#elif defined(__HIPCC_RTC__) || defined(__HIP__)
#define FLASH_GROUPS 1
#define FLASH_STEP 32
#define FLASH_BLOCKS 1
#else
#define FLASH_GROUPS 1
#define FLASH_STEP 64
#define FLASH_BLOCKS 1
#endif

#include "warpgroup_tile.h"

#define FLASH_WAVES (FLASH_GROUPS * group_waves)
#include "flash_softmax.h"

namespace {

constexpr int step = FLASH_STEP, block_rows = FLASH_GROUPS * group_rows;

/// Computes y[tokens, heads, D] and, unless null, log_sum[batch, heads, sequence]. Grid: the tiles
/// of queries of all heads of all sequences.
template <typename T, int D>
DEVICE void flash_attention_wgmma(T* y, float* log_sum, const T* qkv, const i32* document_starts,
                                  u64 sequence, u64 heads, u64 kv_heads, float scale) {
  using Queries = PanelTile<T, block_rows, D>;
  using Keys = PanelTile<T, step, D>;
  using Scratch = SharedTile<T, block_rows, step>;
  using Scores = GroupTile<T, step>;
  using Sums = GroupTile<T, D>;
  const Head<T> head(qkv, sequence, heads, kv_heads, D, block_rows);
  const Queries queries = {memory_of_panels<T>()};
  T* const steps = queries.data + Queries::elements;
  const auto keys_at = [&](u64 i) { return Keys{steps + i % 2 * Keys::elements}; };
  const auto values_at = [&](u64 i) { return Keys{steps + (2 + i % 2) * Keys::elements}; };
  const Scratch scratch = {steps + 4 * Keys::elements};
  // tiles with the most keys run first
  const u64 first = (head.tiles - 1 - head.tile) * block_rows;
  const int my_group = static_cast<int>(wave_index()) / group_waves * group_rows;
  const int my_row = static_cast<int>(wave_index()) * Sums::rows;
  const bool documents = has_documents(document_starts);
  SHARED QueryDocuments<block_rows> of_queries;
  if (documents) of_queries.load(document_starts + head.first_token, first, sequence);
  // the keys that are seen, from the beginning of the first query's document on
  const u64 begin =
      documents ? static_cast<u64>(document_starts[head.first_token + first]) / step * step : 0;
  const u64 end = first + block_rows < sequence ? first + block_rows : sequence;
  const u64 count = (end - begin + step - 1) / step;

  TileCopy<T, step, Keys::panel_columns, threads> copy(head.k, head.ld, begin, 0, sequence, D, true);
  {
    TileCopy<T, block_rows, Keys::panel_columns, threads> copy_queries(head.q, head.ld, first, 0,
                                                                       sequence, D, true);
    copy_panels(copy_queries, queries);
  }
  copy_panels(copy, keys_at(0));
  close_copies();
  Sums sums;
  sums.fill(0);
  Weights<T, step> weights;
  RunningSoftmax<Sums> softmax(scale);
  for (u64 i = 0; i < count; ++i) {
    await_copies<0>();
    show_to_products();
    barrier();  // keys i and values i - 1 have arrived; nobody reads those before them any more
    copy_panels(copy, values_at(i), head.kv_width);  // values lie beside the keys
    copy.move_down(step);
    if (i + 1 < count) copy_panels(copy, keys_at(i + 1));
    close_copies();
    Scores scores;
    begin_product(scores, queries, my_group, keys_at(i));
    if (i > 0) {
      begin_product(sums, weights, scratch, my_row, values_at(i - 1));
      await_products<1>();
    } else {
      await_products<0>();
    }
    pin(scores);
    const u64 key = begin + i * step;
    hide_unseen_keys(scores, first + my_row, key, documents, of_queries.starts + my_row);
    const typename Sums::Rows shrink = softmax.weigh(scores, documents);
    await_products<0>();
    pin(sums);
    softmax.multiply_rows(sums, shrink);
    weights.take(scores, scratch, my_row);
  }
  await_copies<0>();
  show_to_products();
  barrier();  // the last values have arrived
  begin_product(sums, weights, scratch, my_row, values_at(count - 1));
  await_products<0>();
  pin(sums);
  softmax.normalize(sums);
  barrier();  // a group's products read the queries of all its waves
  const u64 mine = first + my_row;
  write_rows(head.part(y, D) + mine * head.width, head.width, left_of(sequence, mine), sums,
             queries, my_row);
  softmax.write_log_sum(log_sum, head.index, mine, sequence);
}

}  // namespace

/// qkv and y must be aligned to 16 bytes. document_starts: as in flash_attention.cu.
#define FLASH_KERNEL(T, suffix, D)                                                             \
  KERNEL_OF(threads, FLASH_BLOCKS, flash_attention_wgmma_##D##_##suffix, T* y, float* log_sum, \
            const T* qkv, const i32* document_starts, u64 sequence, u64 heads, u64 kv_heads,   \
            float scale) {                                                                     \
    flash_attention_wgmma<T, D>(y, log_sum, qkv, document_starts, sequence, heads, kv_heads,   \
                                scale);                                                        \
  }
// On GPUs each kernel takes seconds to compile, so the macros below select one.
#if defined(FLASH_ONLY)
#define FLASH_SELECTED(T, suffix, D) FLASH_KERNEL(T, suffix, D)
FLASH_SELECTED(FLASH_TYPE, FLASH_ONLY, FLASH_WIDTH)
#else
FLASH_KERNEL(Bf16, bf16, 64)
FLASH_KERNEL(Bf16, bf16, 128)
FLASH_KERNEL(F16, f16, 64)
FLASH_KERNEL(F16, f16, 128)
#endif
