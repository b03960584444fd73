// Causal attention of packed queries, keys and values, [tokens, 3, heads, D], tile by tile on
// matrix units, without storing its scores (Dao et al. 2022; Dao 2023). Query heads may share key
// and value heads: [tokens, heads + 2 kv_heads, D]. flash_backward.cu computes the gradients.

// Waves of a block, rows per wave and keys per step. On GPUs the host defines them
// (flash_attention.cpp).
#if defined(FLASH_WAVES)
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__) || defined(__HIP__)
#define FLASH_WAVES 4
#define FLASH_ROWS 32
#define FLASH_STEP 64
#else
#define FLASH_WAVES 1
#define FLASH_ROWS 64
#define FLASH_STEP 64
#endif

#include "flash_softmax.h"

namespace {

/// A wave's own rows, D wide, as left operands: kept in registers if KEEP, else loaded at each use.
template <typename Sums, typename Tile, int D, bool KEEP>
struct OwnRows {
  using Left = typename Sums::Left;
  Tile tile;
  int row;
  Left part[KEEP ? D / tile_depth : 1];

  DEVICE OwnRows(Tile from, int first) : tile(from), row(first) {}
  /// Call before the first use, when the tile has arrived.
  DEVICE void keep() {
    if constexpr (KEEP) {
      UNROLL_LOOP
      for (int k = 0; k < D; k += tile_depth) load(part[k / tile_depth], k);
    }
  }
  DEVICE void load(Left& to, int depth) const {
    to.template load<Order::depth_last>(tile, row, depth);
  }
};

/// Computes sums += rows right^T, over all of D.
template <typename Sums, typename Tile, int D, bool KEEP, typename Right>
DEVICE void add_product(Sums& sums, OwnRows<Sums, Tile, D, KEEP>& rows, const Right& right) {
  UNROLL_LOOP
  for (int k = 0; k < D; k += tile_depth) {
    if constexpr (!KEEP) rows.load(rows.part[0], k);
    typename Sums::Right y;
    y.template load<Order::depth_last>(right, 0, k);
    sums.multiply_add(rows.part[KEEP ? k / tile_depth : 0], y);
  }
}

/// Computes sums += factors right. `factors` are the sums of another product; they go through
/// `scratch` if sums do not have an operand's layout.
template <typename Sums, typename Factors, typename Scratch, typename Right>
DEVICE void add_weighted(Sums& sums, Factors& factors, const Scratch& scratch, int row,
                         const Right& right) {
  if constexpr (!Factors::sums_are_operands) factors.put(scratch, row);
  UNROLL_LOOP
  for (int k = 0; k < Factors::columns; k += tile_depth) {
    typename Sums::Left x;
    typename Sums::Right y;
    x.take(factors, scratch, row, k);
    y.template load<Order::depth_first>(right, 0, k);
    sums.multiply_add(x, y);
  }
  wave_barrier();  // so that the wave may overwrite scratch
}

/// Computes y[tokens, heads, D] and, unless null, log_sum[batch, heads, sequence], the log of the
/// sum of exp(scale * score). Grid: the tiles of queries of all heads of all sequences.
template <typename T, int D>
DEVICE void flash_forward(T* y, float* log_sum, const T* qkv, const i32* document_starts,
                          u64 sequence, u64 heads, u64 kv_heads, float scale) {
  constexpr int step = FLASH_STEP, wave_rows = FLASH_ROWS, block_rows = waves * wave_rows;
  using Queries = SharedTile<T, block_rows, D>;
  using Keys = SharedTile<T, step, D>;
  using Scratch = SharedTile<T, block_rows, step>;
  using Scores = WaveTile<T, wave_rows, step>;
  using Sums = WaveTile<T, wave_rows, D>;
  constexpr bool keep = wave_rows * D <= 32 * 64;  // otherwise too few registers would be left
  const Head<T> head(qkv, sequence, heads, kv_heads, D, block_rows);
  const Queries queries = {static_cast<T*>(dynamic_shared())};
  const Keys keys = after<Keys>(queries), values = after<Keys>(keys);
  const Scratch scratch = after<Scratch>(values);
  // tiles with the most keys run first
  const u64 first = (head.tiles - 1 - head.tile) * block_rows;
  const int my_row = static_cast<int>(wave_index()) * wave_rows;
  const bool documents = has_documents(document_starts);
  SHARED QueryDocuments<block_rows> of_queries;
  if (documents) of_queries.load(document_starts + head.first_token, first, sequence);
  // the keys that are seen, from the beginning of the first query's document on
  const u64 begin =
      documents ? static_cast<u64>(document_starts[head.first_token + first]) / step * step : 0;
  const u64 end = first + block_rows < sequence ? first + block_rows : sequence;

  load_tile(queries, head.q, head.ld, first, sequence);
  TileCopy<T, step, D, threads> copy(head.k, head.ld, begin, 0, sequence, D, true);
  copy.begin(keys);
  copy.end(keys);
  close_copies();
  Sums sums;
  sums.fill(0);
  RunningSoftmax<Sums> softmax(scale);
  OwnRows<Scores, Queries, D, keep> my_queries(queries, my_row);
  for (u64 key = begin; key < end; key += step) {
    await_copies<0>();
    barrier();  // the keys have arrived, and nobody reads the last values any more
    if (key == begin) my_queries.keep();
    copy.begin(values, head.kv_width);  // values lie beside the keys
    Scores scores;
    scores.fill(0);
    add_product(scores, my_queries, keys);
    hide_unseen_keys(scores, first + my_row, key, documents, of_queries.starts + my_row);
    softmax.multiply_rows(sums, softmax.weigh(scores, documents));
    copy.end(values);
    close_copies();
    await_copies<0>();
    barrier();  // the values have arrived, and nobody reads the keys any more
    const bool more = key + step < end;
    copy.move_down(step);
    if (more) copy.begin(keys);
    add_weighted(sums, scores, scratch, my_row, values);
    if (more) copy.end(keys);
    close_copies();
  }
  softmax.normalize(sums);
  const u64 mine = first + my_row;
  write_rows(head.part(y, D) + mine * head.width, head.width, left_of(sequence, mine), sums,
             queries, my_row);
  softmax.write_log_sum(log_sum, head.index, mine, sequence);
}

}  // namespace

/// qkv and y must be aligned to 16 bytes. document_starts[tokens], unless null: the first token of
/// its sequence that a token attends to; it never falls within a sequence.
#define FLASH_KERNEL(T, suffix, D)                                                        \
  KERNEL_OF(threads, 1, flash_forward_##D##_##suffix, T* y, float* log_sum, const T* qkv, \
            const i32* document_starts, u64 sequence, u64 heads, u64 kv_heads,            \
            float scale) {                                                                \
    flash_forward<T, D>(y, log_sum, qkv, document_starts, sequence, heads, kv_heads,      \
                        scale);                                                           \
  }
// On GPUs each kernel takes seconds to compile, so the macros below select one.
#if defined(FLASH_ONLY)
#define FLASH_SELECTED(T, suffix, D) FLASH_KERNEL(T, suffix, D)
FLASH_SELECTED(FLASH_TYPE, FLASH_ONLY, FLASH_WIDTH)
#else
FLASH_KERNEL(Bf16, bf16, 32)
FLASH_KERNEL(Bf16, bf16, 64)
FLASH_KERNEL(Bf16, bf16, 128)
FLASH_KERNEL(F16, f16, 32)
FLASH_KERNEL(F16, f16, 64)
FLASH_KERNEL(F16, f16, 128)
#endif
