// What attention's passes over tiles share: where a block's tile lies, and tiles in shared memory.
// FLASH_WAVES, the waves of a block, is defined before this is included.
#pragma once

#include "conversions.h"
#include "fast_math.h"
#include "tile.h"

namespace {

constexpr int waves = FLASH_WAVES, threads = waves * static_cast<int>(wave_width);

/// What a block works on: a tile of one head of one sequence. The tiles of a head follow each
/// other, so that those that run at the same time find its keys and values in the cache.
template <typename T>
struct Head {
  const T *q, *k, *v;
  u64 sequence, ld;  ///< ld: elements between tokens, of qkv
  u64 tiles, tile;   ///< of `rows` queries or keys
  u64 first_token, index;
  u64 heads, width, kv_width;

  /// `kv_heads` heads of keys and values, each shared by as many query heads.
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
  /// This head's part of an array [tokens, heads, D].
  template <typename Array>
  DEVICE Array* part(Array* x, int d) const {
    return x + first_token * width + index % heads * d;
  }
};

/// Begins to load a whole tile; the caller closes and awaits the copies, and its barrier shows the
/// tile to the block.
template <typename Tile, typename T>
DEVICE void load_tile(Tile to, const T* from, u64 ld, u64 row, u64 rows) {
  TileCopy<T, Tile::rows, Tile::columns, threads> copy(from, ld, row, 0, rows, Tile::columns, true);
  copy.begin(to);
  copy.end(to);
}

/// How many of `rows` lie at `row` and beyond.
DEVICE u64 left_of(u64 rows, u64 row) {
  return row < rows ? rows - row : 0;
}

/// The tile after `tile` in shared memory.
template <typename Next, typename Tile>
DEVICE Next after(Tile tile) {
  return {tile.data + Tile::elements};
}

/// Writes a wave's sums to `rows` rows of a matrix that begins at `to`, by way of the wave's rows
/// of a tile, which it no longer needs: whole chunks, where lanes hold single elements.
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
