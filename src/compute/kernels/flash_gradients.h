// Shared parts of the kernels that compute attention's gradients: the integers in which gradients
// of queries are summed, and per-query values. Define FLASH_WAVES, FLASH_KEYS, FLASH_QUERIES and
// FLASH_STAGES, which flash_backward.cu explains, before including this file.
//
// The unit of these integers follows from a bound. Let p be the probabilities of a query's keys, d
// the gradients of its result and v the values:
//
//   |dq_e| = scale |sum_j p_j (d v_j - sum_k p_k d v_k) k_je| <= scale reach top_e,
//
// because a mean distance from the mean is at most the largest magnitude. Here reach is the sum
// over c of |d_c| max_j |v_jc|, and top_e is max_j |k_je|. The bound requires that p sums to 1. So
// p is computed from log_sum with an error far below 1; in f32 this holds while every scaled score
// is below 2^21, where neighbouring numbers are a quarter apart.
//
// A unit is 2^-30 of this bound, which leaves another bit for rounded operands. Each tile of keys
// rounds once, so the total error is about sqrt(tiles / 12) units. Among 16,384 normally
// distributed keys and values a gradient is 2^16 units. Rounding p and the gradients of scores to
// bf16 or f16, as all flash attention does, loses far more.
#pragma once

#include "flash_tiles.h"

namespace {

constexpr int tile_keys = FLASH_KEYS, tile_queries = FLASH_QUERIES, stages = FLASH_STAGES;
constexpr float units_of_bound = 1 << 30;
constexpr int tops_tokens = 1024;  // tokens whose largest keys and values a block finds

/// Per-query values that the backward pass needs.
struct alignas(16) QueryRow {
  float log_sum;               ///< log2 of the sum of 2^score; scores are in units of log2
  float delta;                 ///< the sum of dy * y over the row
  float reach, inverse_reach;  ///< reach as above; inverse_or_zero(reach)
};

/// Returns 1 / x. Returns 0 where x is no finite number, or so small that the gradient bounded by
/// it may be 0; the threshold keeps units_of_bound / x finite.
DEVICE float inverse_or_zero(float x) {
  return x > 1e-28f && x <= 3.40282347e+38f ? 1 / x : 0;
}

/// Which queries see one of a tile's keys, where tokens attend within documents only.
struct SeeingQueries {
  const i32* starts;       ///< for each token of the sequence, where its document begins; null: the
                           ///< sequence is one document
  u64 sequence, last_key;  ///< tokens of the sequence; the tile's last key

  DEVICE SeeingQueries(const i32* document_starts, u64 first_token, u64 tokens, u64 first_key)
      : starts(has_documents(document_starts) ? document_starts + first_token : nullptr),
        sequence(tokens),
        last_key((first_key + tile_keys < tokens ? first_key + tile_keys : tokens) - 1) {}
  DEVICE bool documents() const { return has_documents(starts); }
  /// Whether the tile of queries that begins at `query`, not before this tile of keys, exists and
  /// sees one of its keys.
  DEVICE bool has(u64 query) const {
    return query < sequence && (!documents() || static_cast<u64>(starts[query]) <= last_key);
  }
};

/// Sets probabilities of keys that queries do not see to 0. Probabilities are [keys, queries], and
/// the wave's first query is `distance` tokens after its first key, `key`. starts[queries]: where
/// the documents of the queries begin, used if `documents`.
template <typename Probabilities>
DEVICE void clear_unseen_keys(Probabilities& probabilities, int distance, bool documents, i32 key,
                              const i32* starts) {
  if (distance < Probabilities::rows) {  // causal mask: some queries do not see some keys
    probabilities.for_each([&](int i, int j, float& probability) {
      if (i > j + distance) probability = 0;
    });
  }
  if (documents && key < starts[Probabilities::columns - 1]) {
    probabilities.for_each([&](int i, int j, float& probability) {
      if (key + i < starts[j]) probability = 0;
    });
  }
}

/// Returns this thread's first element among the sums of a tile of queries. A thread's elements are
/// `threads` apart, so that the threads of a wave access adjacent ones.
template <int D, typename Sums>
DEVICE Sums* sums_of_tile(Sums* sums, u64 tile) {
  return sums + tile * (tile_queries * D) + thread_index();
}

/// Adds the wave's part of the gradients of a tile's queries to this thread's sums of the tile.
/// rows[queries of the tile]; units[D]: for each column, units_of_bound / (scale times the largest
/// magnitude among its keys).
template <typename Share>
DEVICE void add_query_gradients(u32* sums, typename Share::Sums& gradients, const Share& part,
                                const QueryRow* rows, const float* units) {
  int element = 0;
  gradients.for_each([&](int i, int j, float x) {
    const float in_units = x * rows[part.row + i].inverse_reach * units[part.column + j];
    atomic_add(sums + threads * element++, static_cast<u32>(nearest_integer(in_units)));
  });
}

/// Writes the first `rows` rows of a tile that the block has assembled.
template <typename T, typename Tile>
DEVICE void write_tile(T* to, u64 ld, u64 rows, const Tile& tile) {
  constexpr int chunks = Tile::row_chunks;
  for (int i = static_cast<int>(thread_index()); i < Tile::rows * chunks; i += threads) {
    const int r = i / chunks, c = i % chunks;
    if (static_cast<u64>(r) >= rows) return;
    *reinterpret_cast<Chunk*>(to + static_cast<u64>(r) * ld + c * chunk_elements) =
        *reinterpret_cast<const Chunk*>(tile.chunk(0, r, c));
  }
}

/// Converts `sums` to the gradients of queries in d_qkv [tokens, heads + 2 kv_heads, D]. `rows` and
/// `tops` are from flash_rows() and flash_tops(). Grid: the tiles of queries of all heads of all
/// sequences. Share: the wave's part of a tile.
template <typename T, int D, typename Share>
DEVICE void flash_query_gradients(T* d_qkv, const u32* sums, const QueryRow* rows,
                                  const float* tops, u64 sequence, u64 heads, u64 kv_heads,
                                  float scale) {
  using Queries = SharedTile<T, tile_queries, D>;
  const Head<T> head(d_qkv, sequence, heads, kv_heads, D, tile_queries);
  const Queries queries = {static_cast<T*>(dynamic_shared())};
  const u64 tile = head.index * head.tiles + head.tile;
  rows += tile * tile_queries;
  tops += key_index(head.index, heads, kv_heads) * 2 * D;
  const Share part;
  const u32* const from = sums_of_tile<D>(sums, tile);
  typename Share::Sums gradients;
  gradients.fill(0);
  int element = 0;
  gradients.for_each([&](int, int, float& x) {
    x = static_cast<float>(static_cast<i32>(from[threads * element++]));
  });
  gradients.for_each([&](int i, int j, float& x) {
    x *= rows[part.row + i].reach * (scale / units_of_bound * tops[part.column + j]);
  });
  gradients.put(queries, part.row, part.column);
  barrier();
  const u64 first = head.tile * tile_queries;
  write_tile(d_qkv + (head.q - d_qkv) + first * head.ld, head.ld, left_of(sequence, first),
             queries);
}

}  // namespace

/// Defines the kernels that compute all gradients: name() and then flash_query_gradients(). qkv, dy
/// and d_qkv must be aligned to 16 bytes.
#define FLASH_GRADIENTS(T, suffix, D, name, Share)                                                 \
  KERNEL_OF(threads, 1, name##_##D##_##suffix, T* d_qkv, u32* sums, const T* dy, const T* qkv,     \
            const QueryRow* rows, const float* tops, const i32* document_starts, u64 sequence,     \
            u64 heads, u64 kv_heads, float scale) {                                                \
    name<T, D>(d_qkv, sums, dy, qkv, rows, tops, document_starts, sequence, heads, kv_heads,       \
               scale);                                                                             \
  }                                                                                                \
  KERNEL_OF(threads, 1, name##_queries_##D##_##suffix, T* d_qkv, const u32* sums,                  \
            const QueryRow* rows, const float* tops, u64 sequence, u64 heads, u64 kv_heads,        \
            float scale) {                                                                         \
    flash_query_gradients<T, D, Share>(d_qkv, sums, rows, tops, sequence, heads, kv_heads, scale); \
  }
#define COMMA ,  // inside an argument of a macro
