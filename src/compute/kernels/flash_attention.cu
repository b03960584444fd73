// Causal attention of packed queries, keys and values, [tokens, 3, heads, D], without its scores in
// memory: forward and backward by tiles on matrix units (Dao et al. 2022; Dao 2023). Forward, query
// heads may share heads of keys and values: [tokens, heads + 2 kv_heads, D]. The backward
// pass is two kernels, one for keys and values and one for queries, each of which computes the
// scores again: 7 products instead of 5, but no atomics, so the same bits every time.
#include "conversions.h"
#include "fast_math.h"
#include "tile.h"

// Waves of a block; forward and backward, the rows of a wave and how many keys (or, for the
// gradients of keys and values, queries) a step takes. On GPUs the host gives them
// (own_attention.cpp).
#if defined(ON_CPU)
#define FLASH_WAVES 1
#define FLASH_ROWS 64
#define FLASH_STEP 64
#define FLASH_BACK_ROWS 64
#define FLASH_BACK_STEP 64
#elif !defined(FLASH_WAVES)
#define FLASH_WAVES 4
#define FLASH_ROWS 32
#define FLASH_STEP 64
#define FLASH_BACK_ROWS 16
#define FLASH_BACK_STEP 64
#endif

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

/// A wave's own rows, D wide, as left operands: in registers if KEEP, else loaded at each use.
template <typename Sums, typename Tile, int D, bool KEEP>
struct OwnRows {
  using Left = typename Sums::Left;
  Tile tile;
  int row;
  Left part[KEEP ? D / tile_depth : 1];

  DEVICE OwnRows(Tile from, int first) : tile(from), row(first) {}
  /// Before the first use, when the tile is there.
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

/// sums += rows right^T, along all D.
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

/// sums += factors right, where `factors` are sums of another product, put in `scratch` if need be.
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
  wave_barrier();  // the wave may put others
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

/// y[tokens, heads, D] and, unless null, log_sum[batch, heads, sequence], the log of the sum of
/// exp(scale * score). Grid: the tiles of queries of all heads of all sequences.
template <typename T, int D>
DEVICE void flash_forward(T* y, float* log_sum, const T* qkv, u64 sequence, u64 heads, u64 kv_heads,
                          float scale) {
  constexpr int step = FLASH_STEP, wave_rows = FLASH_ROWS, block_rows = waves * wave_rows;
  using Queries = SharedTile<T, block_rows, D>;
  using Keys = SharedTile<T, step, D>;
  using Scratch = SharedTile<T, block_rows, step>;
  using Scores = WaveTile<T, wave_rows, step>;
  using Sums = WaveTile<T, wave_rows, D>;
  constexpr bool keep = wave_rows * D <= 32 * 64;  // more would leave too few registers
  const Head<T> head(qkv, sequence, heads, kv_heads, D, block_rows);
  const Queries queries = {static_cast<T*>(dynamic_shared())};
  const Keys keys = after<Keys>(queries), values = after<Keys>(keys);
  const Scratch scratch = after<Scratch>(values);
  const u64 first = (head.tiles - 1 - head.tile) * block_rows;  // those with the most keys at first
  const int my_row = static_cast<int>(wave_index()) * wave_rows;
  const u64 end = first + block_rows < sequence ? first + block_rows : sequence;  // of seen keys

  load_tile(queries, head.q, head.ld, first, sequence);
  TileCopy<T, step, D, threads> copy(head.k, head.ld, 0, 0, sequence, D, true);
  copy.begin(keys);
  copy.end(keys);
  close_copies();
  Sums sums;
  sums.fill(0);
  typename Sums::Rows largest, total;
  UNROLL_LOOP
  for (int s = 0; s < Sums::row_slots; ++s) {
    largest.slot[s] = -1e30f;
    total.slot[s] = 0;
  }
  const float to_log2 = scale * log2_e;
  OwnRows<Scores, Queries, D, keep> my_queries(queries, my_row);
  for (u64 key = 0; key < end; key += step) {
    await_copies<0>();
    barrier();  // the keys are there, and nobody still reads the last values
    if (key == 0) my_queries.keep();
    copy.begin(values, head.kv_width);  // which lie beside the keys
    Scores scores;
    scores.fill(0);
    add_product(scores, my_queries, keys);
    if (key + step > first + my_row) {  // some keys lie behind some queries
      const int distance = static_cast<int>(first + my_row) - static_cast<int>(key);
      scores.for_each([&](int i, int j, float& score) {
        if (j > i + distance) score = -1e30f;
      });
    }
    const auto tops = scores.reduce_rows(Maximum{});
    typename Sums::Rows shrink, base;
    UNROLL_LOOP
    for (int s = 0; s < Sums::row_slots; ++s) {
      const float top = larger(largest.slot[s], tops.slot[s]);
      shrink.slot[s] = fast_exp2((largest.slot[s] - top) * to_log2);
      largest.slot[s] = top;
      base.slot[s] = top * to_log2;
    }
    scores.for_each_in_rows(
        [&](int slot, float& score) { score = fast_exp2(score * to_log2 - base.slot[slot]); });
    const auto here = scores.reduce_rows(Sum{});
    UNROLL_LOOP
    for (int s = 0; s < Sums::row_slots; ++s) {
      total.slot[s] = total.slot[s] * shrink.slot[s] + here.slot[s];
    }
    sums.for_each_in_rows([&](int slot, float& sum) { sum *= shrink.slot[slot]; });
    copy.end(values);
    close_copies();
    await_copies<0>();
    barrier();  // the values are there, and nobody still reads the keys
    const bool more = key + step < end;
    copy.move_down(step);
    if (more) copy.begin(keys);
    add_weighted(sums, scores, scratch, my_row, values);
    if (more) copy.end(keys);
    close_copies();
  }
  typename Sums::Rows inverse;
  UNROLL_LOOP
  for (int s = 0; s < Sums::row_slots; ++s) inverse.slot[s] = 1 / total.slot[s];
  sums.for_each_in_rows([&](int slot, float& sum) { sum *= inverse.slot[slot]; });
  const u64 mine = first + my_row;
  write_rows(head.part(y, D) + mine * head.width, head.width, left_of(sequence, mine), sums,
             queries, my_row);
  if (log_sum != nullptr && Sums::first_in_row()) {
    Sums::for_each_row([&](int slot, int i) {
      const u64 row = first + my_row + i;
      if (row >= sequence) return;
      log_sum[head.index * sequence + row] =
          largest.slot[slot] * scale + fast_log2(total.slot[slot]) / log2_e;
    });
  }
}

/// delta[batch, heads, sequence] = the sum of dy y over a head's elements.
template <typename T, int D>
DEVICE void flash_delta(float* delta, const T* dy, const T* y, u64 rows, u64 sequence, u64 heads) {
  const Tiles tiles = my_tiles(rows, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 row = tile + thread_index();  // of [batch, heads, sequence]
    if (row >= rows) continue;
    const u64 head = row / sequence % heads, batch = row / (sequence * heads);
    const u64 at = ((batch * sequence + row % sequence) * heads + head) * D;
    float total = 0;
    for (int i = 0; i < D; i += chunk_elements) {
      total += (to_floats(load_pack<chunk_elements>(dy + at + i)) *
                to_floats(load_pack<chunk_elements>(y + at + i)))
                   .sum();
    }
    delta[row] = total;
  }
}

/// What the backward pass needs to know of each query.
struct QueryRow {
  float log_sum, delta;
};
DEVICE QueryRow query_row(const float* log_sum, const float* delta, u64 head, u64 sequence,
                          u64 row) {
  if (row >= sequence) return {1e30f, 0};  // what does not exist has probability 0
  return {log_sum[head * sequence + row] * log2_e, delta[head * sequence + row]};
}

/// Gradients of keys and values in d_qkv. Grid: their tiles of all heads of all sequences.
template <typename T, int D>
DEVICE void flash_backward_keys(T* d_qkv, const T* dy, const T* qkv, const float* log_sum,
                                const float* delta, u64 sequence, u64 heads, float scale) {
  constexpr int step = FLASH_BACK_STEP, wave_rows = FLASH_BACK_ROWS;
  constexpr int block_rows = waves * wave_rows;
  using Keys = SharedTile<T, block_rows, D>;
  using Queries = SharedTile<T, step, D>;
  using Scratch = SharedTile<T, block_rows, step>;
  using Scores = WaveTile<T, wave_rows, step>;  // transposed: keys x queries
  using Sums = WaveTile<T, wave_rows, D>;
  SHARED QueryRow rows[step];
  const Head<T> head(qkv, sequence, heads, heads, D, block_rows);
  const Keys keys = {static_cast<T*>(dynamic_shared())}, values = after<Keys>(keys);
  const Queries queries = after<Queries>(values), outputs = after<Queries>(queries);
  const Scratch scratch = after<Scratch>(outputs);
  const u64 first = head.tile * block_rows;
  const int my_row = static_cast<int>(wave_index()) * wave_rows;
  const T* const d_out = head.part(dy, D);
  load_tile(keys, head.k, head.ld, first, sequence);
  load_tile(values, head.v, head.ld, first, sequence);
  constexpr bool keep = wave_rows * D <= 16 * 64;
  OwnRows<Scores, Keys, D, keep> my_keys(keys, my_row), my_values(values, my_row);
  Sums d_keys, d_values;
  d_keys.fill(0);
  d_values.fill(0);
  const float to_log2 = scale * log2_e;
  const u64 first_query = first / step * step;
  for (u64 query = first_query; query < sequence; query += step) {
    barrier();  // nobody still reads the last queries
    load_tile(queries, head.q, head.ld, query, sequence);
    load_tile(outputs, d_out, head.width, query, sequence);
    for (int i = static_cast<int>(thread_index()); i < step; i += threads) {
      rows[i] = query_row(log_sum, delta, head.index, sequence, query + i);
    }
    close_copies();
    await_copies<0>();
    barrier();
    if (query == first_query) {
      my_keys.keep();
      my_values.keep();
    }
    Scores p, dp;
    p.fill(0);
    add_product(p, my_keys, queries);
    const int distance = static_cast<int>(query) - static_cast<int>(first + my_row);
    p.for_each(
        [&](int, int j, float& score) { score = fast_exp2(score * to_log2 - rows[j].log_sum); });
    if (query < first + my_row + wave_rows) {  // some queries do not see some keys
      p.for_each([&](int i, int j, float& probability) {
        if (i > j + distance) probability = 0;
      });
    }
    dp.fill(0);
    add_product(dp, my_values, outputs);
    add_weighted(d_values, p, scratch, my_row, outputs);
    dp.for_each_with(p, [&](int, int j, float& d, float probability) {
      d = scale * probability * (d - rows[j].delta);
    });
    add_weighted(d_keys, dp, scratch, my_row, queries);
  }
  const u64 mine = first + my_row, left = left_of(sequence, mine);
  T* const out = d_qkv + mine * head.ld;
  write_rows(out + (head.k - qkv), head.ld, left, d_keys, keys, my_row);
  write_rows(out + (head.v - qkv), head.ld, left, d_values, values, my_row);
}

/// Gradients of queries in d_qkv. Grid: their tiles of all heads of all sequences.
template <typename T, int D>
DEVICE void flash_backward_queries(T* d_qkv, const T* dy, const T* qkv, const float* log_sum,
                                   const float* delta, u64 sequence, u64 heads, float scale) {
  constexpr int step = FLASH_BACK_STEP, wave_rows = FLASH_BACK_ROWS;
  constexpr int block_rows = waves * wave_rows;
  using Queries = SharedTile<T, block_rows, D>;
  using Keys = SharedTile<T, step, D>;
  using Scratch = SharedTile<T, block_rows, step>;
  using Scores = WaveTile<T, wave_rows, step>;
  using Sums = WaveTile<T, wave_rows, D>;
  SHARED QueryRow rows[block_rows];
  const Head<T> head(qkv, sequence, heads, heads, D, block_rows);
  const Queries queries = {static_cast<T*>(dynamic_shared())}, outputs = after<Queries>(queries);
  const Keys keys = after<Keys>(outputs), values = after<Keys>(keys);
  const Scratch scratch = after<Scratch>(values);
  const u64 first = (head.tiles - 1 - head.tile) * block_rows;
  const int my_row = static_cast<int>(wave_index()) * wave_rows;
  const u64 end = first + block_rows < sequence ? first + block_rows : sequence;
  load_tile(queries, head.q, head.ld, first, sequence);
  load_tile(outputs, head.part(dy, D), head.width, first, sequence);
  for (int i = static_cast<int>(thread_index()); i < block_rows; i += threads) {
    rows[i] = query_row(log_sum, delta, head.index, sequence, first + i);
  }
  constexpr bool keep = wave_rows * D <= 16 * 128;
  OwnRows<Scores, Queries, D, keep> my_queries(queries, my_row), my_outputs(outputs, my_row);
  Sums d_queries;
  d_queries.fill(0);
  const float to_log2 = scale * log2_e;
  for (u64 key = 0; key < end; key += step) {
    barrier();  // nobody still reads the last keys
    load_tile(keys, head.k, head.ld, key, sequence);
    load_tile(values, head.v, head.ld, key, sequence);
    close_copies();
    await_copies<0>();
    barrier();
    if (key == 0) {
      my_queries.keep();
      my_outputs.keep();
    }
    Scores p, dp;
    p.fill(0);
    add_product(p, my_queries, keys);
    const int distance = static_cast<int>(first + my_row) - static_cast<int>(key);
    p.for_each([&](int i, int, float& score) {
      score = fast_exp2(score * to_log2 - rows[my_row + i].log_sum);
    });
    if (key + step > first + my_row) {  // some keys lie behind some queries
      p.for_each([&](int i, int j, float& probability) {
        if (j > i + distance) probability = 0;
      });
    }
    dp.fill(0);
    add_product(dp, my_outputs, values);
    dp.for_each_with(p, [&](int i, int, float& d, float probability) {
      d = scale * probability * (d - rows[my_row + i].delta);
    });
    add_weighted(d_queries, dp, scratch, my_row, keys);
  }
  const u64 mine = first + my_row;
  write_rows(d_qkv + (head.q - qkv) + mine * head.ld, head.ld, left_of(sequence, mine), d_queries,
             queries, my_row);
}

}  // namespace

/// qkv, dy and y begin at multiples of 16 bytes.
#define FLASH_KERNELS(T, suffix, D)                                                              \
  KERNEL_OF(threads, 1, flash_forward_##D##_##suffix, T* y, float* log_sum, const T* qkv,        \
            u64 sequence, u64 heads, u64 kv_heads, float scale) {                                \
    flash_forward<T, D>(y, log_sum, qkv, sequence, heads, kv_heads, scale);                      \
  }                                                                                              \
  KERNEL(flash_delta_##D##_##suffix, float* delta, const T* dy, const T* y, u64 rows,            \
         u64 sequence, u64 heads) {                                                              \
    flash_delta<T, D>(delta, dy, y, rows, sequence, heads);                                      \
  }                                                                                              \
  KERNEL_OF(threads, 1, flash_backward_keys_##D##_##suffix, T* d_qkv, const T* dy, const T* qkv, \
            const float* log_sum, const float* delta, u64 sequence, u64 heads, float scale) {    \
    flash_backward_keys<T, D>(d_qkv, dy, qkv, log_sum, delta, sequence, heads, scale);           \
  }                                                                                              \
  KERNEL_OF(threads, 1, flash_backward_queries_##D##_##suffix, T* d_qkv, const T* dy,            \
            const T* qkv, const float* log_sum, const float* delta, u64 sequence, u64 heads,     \
            float scale) {                                                                       \
    flash_backward_queries<T, D>(d_qkv, dy, qkv, log_sum, delta, sequence, heads, scale);        \
  }
// On GPUs each takes seconds to compile, so the macros below select one.
#if defined(FLASH_ONLY)
#define FLASH_SELECTED(T, suffix, D) FLASH_KERNELS(T, suffix, D)
FLASH_SELECTED(FLASH_TYPE, FLASH_ONLY, FLASH_WIDTH)
#else
FLASH_KERNELS(Bf16, bf16, 32)
FLASH_KERNELS(Bf16, bf16, 64)
FLASH_KERNELS(Bf16, bf16, 128)
FLASH_KERNELS(F16, f16, 32)
FLASH_KERNELS(F16, f16, 64)
FLASH_KERNELS(F16, f16, 128)
#endif
