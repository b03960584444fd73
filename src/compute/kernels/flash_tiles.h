// Shared parts of attention's passes over tiles: the position of a block's tile, and tiles in
// shared memory. Define FLASH_WAVES, the waves of a block, before including this file.
#pragma once

#include "conversions.h"
#include "fast_math.h"
#include "tile.h"

namespace {

constexpr int waves = FLASH_WAVES, threads = waves * static_cast<int>(wave_width);

/// The tile that a block works on, in one head of one sequence. The tiles of a head are neighbours
/// in the grid, so that blocks that run together find the head's keys and values in the cache.
template <typename T>
struct Head {
  const T *q, *k, *v;      ///< of the sequence's first token
  u64 sequence, ld;        ///< tokens of a sequence; elements between tokens of qkv
  u64 tiles, tile;         ///< tiles of `rows` queries or keys in the head; the one of this block
  u64 first_token, index;  ///< of the sequence among all tokens; of the head in all sequences
  u64 heads, width, kv_width;  ///< width: elements of a token's queries; kv_width: of its keys

  /// There are `kv_heads` heads of keys and values, each shared by equally many query heads.
  DEVICE Head(const T* qkv, u64 tokens_per_sequence, u64 head_count, u64 kv_heads, int d, int rows)
      : sequence(tokens_per_sequence),
        heads(head_count),
        width(head_count * d),
        kv_width(kv_heads * d) {
    tiles = (sequence + rows - 1) / rows;
    tile = block_index() % tiles;
    index = block_index() / tiles;
    const u64 head = index % heads;
    first_token = index / heads * sequence;
    ld = width + 2 * kv_width;
    q = qkv + first_token * ld + head * d;
    k = qkv + first_token * ld + width + head / (heads / kv_heads) * d;
    v = k + kv_width;
  }
  /// Returns this head's part of an array [tokens, heads, D].
  template <typename Array>
  DEVICE Array* part(Array* x, int d) const {
    return x + first_token * width + index % heads * d;
  }
};

/// The tile of keys and values that a block works on, in one of their heads, and the query heads
/// that share it. The grid is that of Head, over heads of keys.
template <typename T>
struct KeyHead {
  const T *all, *k, *v;    ///< of the sequence's first token; all: its query head 0
  u64 sequence, ld;        ///< tokens of a sequence; elements between tokens of qkv
  u64 tiles, tile;         ///< tiles of `rows` keys in the head; the one of this block
  u64 first_token, index;  ///< of the sequence among all tokens; of the head in all sequences
  u64 heads, width;        ///< all query heads
  u64 group, first_query;  ///< those that share this head, and the first of them
  u64 batch;

  DEVICE KeyHead(const T* qkv, u64 tokens_per_sequence, u64 head_count, u64 kv_heads, int d,
                 int rows)
      : sequence(tokens_per_sequence),
        heads(head_count),
        width(head_count * d),
        group(head_count / kv_heads) {
    tiles = (sequence + rows - 1) / rows;
    tile = block_index() % tiles;
    index = block_index() / tiles;
    const u64 head = index % kv_heads;
    batch = index / kv_heads;
    first_token = batch * sequence;
    first_query = head * group;
    ld = width + 2 * kv_heads * d;
    all = qkv + first_token * ld;
    k = all + width + head * d;
    v = k + kv_heads * d;
  }
  /// Returns the queries of member `g` of the group.
  DEVICE const T* queries(u64 g, int d) const { return all + (first_query + g) * d; }
  /// Returns its number among the query heads of all sequences.
  DEVICE u64 query_index(u64 g) const { return batch * heads + first_query + g; }
  /// Returns its part of an array [tokens, heads, D].
  template <typename Array>
  DEVICE Array* part(Array* x, u64 g, int d) const {
    return x + first_token * width + (first_query + g) * d;
  }
};

/// Returns the number, among those of all sequences, of the head of keys that a query head reads.
DEVICE u64 key_index(u64 query_index, u64 heads, u64 kv_heads) {
  return query_index / heads * kv_heads + query_index % heads / (heads / kv_heads);
}

/// Whether tokens attend within their documents only. Code for GPUs knows it when it is compiled,
/// so that other attention costs no instruction more.
DEVICE bool has_documents(const i32* document_starts) {
#if defined(FLASH_DOCUMENTS) && !FLASH_DOCUMENTS
  return false;
#else
  return document_starts != nullptr;
#endif
}

/// Where the documents of a tile's queries begin in their sequence: no query sees an earlier key.
template <int QUERIES>
struct QueryDocuments {
  i32 starts[QUERIES];

  /// Loads those of the queries from `first` on, of a sequence whose documents begin at `from`.
  /// Queries beyond the sequence get those of the last one.
  DEVICE void load(const i32* from, u64 first, u64 sequence) {
    for (int i = static_cast<int>(thread_index()); i < QUERIES; i += threads) {
      const u64 query = first + i;
      starts[i] = from[query < sequence ? query : sequence - 1];
    }
  }
};

/// Begins to load the tile that starts at row `row` of `rows`; rows beyond them become 0. The
/// caller closes and awaits the copies and then calls barrier(), after which the block can read it.
template <typename Tile, typename T>
DEVICE void load_tile(Tile to, const T* from, u64 ld, u64 row, u64 rows) {
  TileCopy<T, Tile::rows, Tile::columns, threads> copy(from, ld, row, 0, rows, Tile::columns, true);
  copy.begin(to);
  copy.end(to);
}

/// Returns how many of `rows` rows remain from `row` on.
DEVICE u64 left_of(u64 rows, u64 row) {
  return row < rows ? rows - row : 0;
}

/// Returns the tile that follows `tile` in shared memory.
template <typename Next, typename Tile>
DEVICE Next after(Tile tile) {
  return {tile.data + Tile::elements};
}

/// Writes a wave's sums to `rows` rows of a matrix that begins at `to`. It goes through the wave's
/// rows of a tile that is no longer needed, so that lanes, which hold single elements, write whole
/// chunks.
template <typename T, typename Sums, typename Tile>
DEVICE void write_rows(T* to, u64 ld, u64 rows, Sums& sums, const Tile& tile, int row) {
  wave_barrier();
  sums.put(tile, row);
  constexpr int chunks = Tile::row_chunks;
  for (int i = static_cast<int>(lane_index()); i < Sums::rows * chunks; i += wave_width) {
    const int r = i / chunks, c = i % chunks;
    if (static_cast<u64>(r) >= rows) return;
    *reinterpret_cast<Chunk*>(to + static_cast<u64>(r) * ld + c * chunk_elements) =
        *reinterpret_cast<const Chunk*>(tile.chunk(row, r, c));
  }
}

}  // namespace
