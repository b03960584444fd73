// Gradients of causal attention (flash_attention.cu) of packed queries, keys and values, [tokens,
// heads + 2 kv_heads, D]. A block has a tile of keys, keeps the gradients of these keys and their values in
// registers, and loops over the queries that see them, with five products of tiles (Dao 2023). It
// adds its part of the gradients of these queries to memory. These sums are of integers, so that no
// bit depends on the order in which blocks add. Every part is rounded to a multiple of a unit, one
// for each element. The unit is small enough to keep the sum's digits and large enough that the sum
// does not overflow (flash_gradients.h).

// Waves of a block, rows of a wave's part of a product, keys and queries of a tile, and how many
// tiles of queries fit: with two, one is loaded while the other is used. On GPUs the host defines
// them (flash_attention.cpp).
#if defined(FLASH_WAVES)
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__) || defined(__HIP__)
#define FLASH_WAVES 4
#define FLASH_ROWS 32
#define FLASH_KEYS 64
#define FLASH_QUERIES 64
#define FLASH_STAGES 1
#else
#define FLASH_WAVES 1
#define FLASH_ROWS 64
#define FLASH_KEYS 64
#define FLASH_QUERIES 64
#define FLASH_STAGES 1
#endif

#include "flash_gradients.h"

namespace {

/// This wave's part of the block's ROWS x COLUMNS product.
template <typename T, int ROWS, int COLUMNS>
struct Part {
  static constexpr int rows = FLASH_ROWS, down = ROWS / rows, columns = COLUMNS * down / waves;
  static_assert(down * rows == ROWS && waves % down == 0 && columns * waves == COLUMNS * down,
                "every wave has as much");
  using Sums = WaveTile<T, rows, columns>;
  int row, column;  ///< where the part begins
  DEVICE Part() {
    const int wave = static_cast<int>(wave_index());
    row = wave % down * rows;
    column = wave / down * columns;
  }
};

/// Computes sums += left right, from row `row` of left and column `column` of right on. LEFT and
/// RIGHT are the layouts of the operands' tiles.
template <Order LEFT, Order RIGHT, int DEPTH, typename Sums, typename Left, typename Right>
DEVICE void add_product(Sums& sums, const Left& left, int row, const Right& right, int column) {
  UNROLL_LOOP
  for (int k = 0; k < DEPTH; k += tile_depth) {
    typename Sums::Left x;
    typename Sums::Right y;
    x.template load<LEFT>(left, row, k);
    y.template load<RIGHT>(right, column, k);
    sums.multiply_add(x, y);
  }
}

/// Computes tops[batch, kv_heads, 2, D]: the bits of the largest magnitude in each column of the keys
/// and of the values. tops must be 0 before. Grid: parts of `tops_tokens` tokens of all heads of
/// keys of all sequences.
template <typename T, int D>
DEVICE void flash_tops(u32* tops, const T* qkv, u64 sequence, u64 heads, u64 kv_heads) {
  constexpr u32 columns = 2 * D, chunks = columns / chunk_elements;
  SHARED u32 found[columns];
  const KeyHead<T> head(qkv, sequence, heads, kv_heads, D, tops_tokens);
  const u64 first = head.tile * tops_tokens;
  const u64 end = first + tops_tokens < sequence ? first + tops_tokens : sequence;
  for (u32 i = thread_index(); i < columns; i += block_threads()) found[i] = 0;
  barrier();
  const u32 across = block_threads() < chunks ? block_threads() : chunks;
  const u32 down = block_threads() / across;
  for (u32 c = thread_index() % across; c < chunks; c += across) {
    const T* const from =
        c < chunks / 2 ? head.k + c * chunk_elements : head.v + c * chunk_elements - D;
    u32 top[chunk_elements] = {};
    UNROLL_SOME
    for (u64 token = first + thread_index() / across; token < end; token += down) {
      const auto x = to_floats(load_pack<chunk_elements>(from + token * head.ld));
      UNROLL_LOOP
      for (int e = 0; e < chunk_elements; ++e) {
        // compares as larger than all numbers if it is a NaN
        const u32 magnitude = bits_of(x.v[e]) & 0x7FFFFFFF;
        top[e] = magnitude > top[e] ? magnitude : top[e];
      }
    }
    UNROLL_LOOP
    for (int e = 0; e < chunk_elements; ++e) atomic_max(&found[c * chunk_elements + e], top[e]);
  }
  barrier();
  for (u32 i = thread_index(); i < columns; i += block_threads()) {
    atomic_max(&tops[head.index * columns + i], found[i]);
  }
}

/// Computes rows[batch, heads, the sequence padded to whole tiles], and sets sums, which has D
/// elements for each row, to 0.
template <typename T, int D>
DEVICE void flash_rows(QueryRow* rows, u32* sums, const T* dy, const T* y, const float* log_sum,
                       const float* tops, u64 batch, u64 sequence, u64 heads, u64 kv_heads) {
  constexpr int chunks = D / chunk_elements;
  // lanes of a row
  constexpr int lanes = chunks < static_cast<int>(wave_width) ? chunks : wave_width;
  const u64 padded = (sequence + tile_queries - 1) / tile_queries * tile_queries;
  const u64 all = batch * heads * padded;
  const Tiles tiles = my_tiles(all * lanes, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 item = tile + thread_index(), row = item / lanes;
    const u64 index = row / padded, place = row % padded;  // head, position in its sequence
    const bool exists = row < all && place < sequence;
    const u64 at = ((index / heads * sequence + place) * heads + index % heads) * D;
    float delta = 0, reach = 0;
    for (int c = static_cast<int>(item % lanes); c < chunks; c += lanes) {
      if (exists) {
        const auto d = to_floats(load_pack<chunk_elements>(dy + at + c * chunk_elements));
        delta += (d * to_floats(load_pack<chunk_elements>(y + at + c * chunk_elements))).sum();
        const u64 keys = key_index(index, heads, kv_heads);
        const float* const top = tops + (2 * keys + 1) * D + c * chunk_elements;
        UNROLL_LOOP
        for (int e = 0; e < chunk_elements; ++e) {
          reach += float_of(bits_of(d.v[e]) & 0x7FFFFFFF) * top[e];
        }
      }
      if (row < all) {
        auto* const to = reinterpret_cast<Chunk*>(sums + row * D + c * chunk_elements);
        to[0] = to[1] = Chunk{};
      }
    }
    UNROLL_LOOP
    for (u32 mask = 1; mask < lanes; mask *= 2) {
      delta += shuffle_xor(delta, mask);
      reach += shuffle_xor(reach, mask);
    }
    if (row >= all || item % lanes != 0) continue;
    // Rows beyond the sequence get probability 0.
    const float sum = exists ? log_sum[index * sequence + place] * log2_e : 1e30f;
    // Integers cannot represent NaN and infinity in a query's scores or result; its reach carries
    // them.
    reach += 0 * delta + 0 * sum;
    rows[row] = {sum, delta, reach, inverse_or_zero(reach)};
  }
}

/// Computes the gradients of keys and values in d_qkv, and adds those of queries to `sums`. Grid:
/// the tiles of keys of all heads of keys of all sequences.
template <typename T, int D>
DEVICE void flash_backward(T* d_qkv, u32* sums, const T* dy, const T* qkv, const QueryRow* all_rows,
                           const float* tops, const i32* document_starts, u64 sequence, u64 heads,
                           u64 kv_heads, float scale) {
  using Keys = SharedTile<T, tile_keys, D>;
  using Queries = SharedTile<T, tile_queries, D>;
  using Scores = SharedTile<T, tile_keys, tile_queries>;
  SHARED QueryRow rows[stages][tile_queries];
  SHARED QueryDocuments<tile_queries> of_documents[stages];
  SHARED float units[D];  // units of 1 / scale / reach, for each column
  const KeyHead<T> head(qkv, sequence, heads, kv_heads, D, tile_keys);
  const Keys keys = {static_cast<T*>(dynamic_shared())}, values = after<Keys>(keys);
  const Scores probabilities = after<Scores>(values), differences = after<Scores>(probabilities);
  const Queries first_queries = after<Queries>(differences);
  const auto queries_at = [&](int stage) {
    return Queries{first_queries.data + stage * 2 * Queries::elements};
  };
  const u64 first = head.tile * tile_keys;  // tiles with the most queries run first
  const u64 begin = first / tile_queries * tile_queries;
  const SeeingQueries seeing(document_starts, head.first_token, sequence, first);
  const u64 query_tiles = (sequence + tile_queries - 1) / tile_queries;

  load_tile(keys, head.k, head.ld, first, sequence);
  load_tile(values, head.v, head.ld, first, sequence);
  for (int i = static_cast<int>(thread_index()); i < D; i += threads) {
    units[i] = units_of_bound * inverse_or_zero(scale * tops[head.index * 2 * D + i]);
  }

  const Part<T, tile_keys, tile_queries> of_scores;
  const Part<T, tile_keys, D> of_keys;
  const Part<T, tile_queries, D> of_queries;
  typename Part<T, tile_keys, D>::Sums d_keys, d_values;
  d_keys.fill(0);
  d_values.fill(0);
  const float to_log2 = scale * log2_e;
  for (u64 g = 0; g < head.group; ++g) {
    const u64 query_head = head.query_index(g);
    TileCopy<T, tile_queries, D, threads> copy_queries(head.queries(g, D), head.ld, begin, 0,
                                                       sequence, D, true);
    TileCopy<T, tile_queries, D, threads> copy_outputs(head.part(dy, g, D), head.width, begin, 0,
                                                       sequence, D, true);
    const QueryRow* next_rows = all_rows + query_head * query_tiles * tile_queries + begin;
    u64 next_query = begin;
    const auto load_queries = [&](int stage) {
      if (seeing.documents()) {
        of_documents[stage].load(seeing.starts, next_query, sequence);
        next_query += tile_queries;
      }
      const Queries queries = queries_at(stage), outputs = after<Queries>(queries);
      copy_queries.begin(queries);
      copy_outputs.begin(outputs);
      for (int i = static_cast<int>(thread_index()); i < tile_queries; i += threads) {
        begin_copy(&rows[stage][i], next_rows + i);
      }
      copy_queries.end(queries);
      copy_outputs.end(outputs);
      close_copies();
      copy_queries.move_down(tile_queries);
      copy_outputs.move_down(tile_queries);
      next_rows += tile_queries;
    };
    if (g > 0) barrier();  // nobody reads the queries of the head before any more
    load_queries(0);
    int stage = 0;
    for (u64 query = begin; seeing.has(query); query += tile_queries) {
      const bool more = seeing.has(query + tile_queries);
      const Queries queries = queries_at(stage), outputs = after<Queries>(queries);
      const QueryRow* const my_rows = rows[stage];
      await_copies<0>();
      barrier();  // these queries have arrived; nobody reads the last ones and their scores any more
      if (stages > 1 && more) load_queries(1 - stage);
      typename Part<T, tile_keys, tile_queries>::Sums p, d;
      p.fill(0);
      d.fill(0);
      // Distance from the first key of the wave's part to its first query.
      const int distance =
          static_cast<int>(query) - static_cast<int>(first) + of_scores.column - of_scores.row;
      if (distance > -decltype(p)::columns) {  // otherwise no query sees any key
        add_product<Order::depth_last, Order::depth_last, D>(p, keys, of_scores.row, queries,
                                                             of_scores.column);
        add_product<Order::depth_last, Order::depth_last, D>(d, values, of_scores.row, outputs,
                                                             of_scores.column);
      }
      p.for_each([&](int, int j, float& score) {
        score = fast_exp2(score * to_log2 - my_rows[of_scores.column + j].log_sum);
      });
      clear_unseen_keys(p, distance, seeing.documents(),
                        static_cast<i32>(first) + of_scores.row,
                        of_documents[stage].starts + of_scores.column);
      p.put(probabilities, of_scores.row, of_scores.column);
      d.for_each_with(p, [&](int, int j, float& difference, float probability) {
        difference = scale * probability * (difference - my_rows[of_scores.column + j].delta);
      });
      d.put(differences, of_scores.row, of_scores.column);
      barrier();
      add_product<Order::depth_last, Order::depth_first, tile_queries>(
          d_values, probabilities, of_keys.row, outputs, of_keys.column);
      add_product<Order::depth_last, Order::depth_first, tile_queries>(
          d_keys, differences, of_keys.row, queries, of_keys.column);
      typename Part<T, tile_queries, D>::Sums d_queries;
      d_queries.fill(0);
      add_product<Order::depth_first, Order::depth_first, tile_keys>(
          d_queries, differences, of_queries.row, keys, of_queries.column);
      u32* const to = sums_of_tile<D>(sums, query_head * query_tiles + query / tile_queries);
      add_query_gradients(to, d_queries, of_queries, my_rows, units);
      if (stages > 1) {
        stage = 1 - stage;
      } else if (more) {
        barrier();  // nobody reads the queries any more
        load_queries(0);
      }
    }
  }
  barrier();  // nobody reads the keys and values any more
  d_keys.put(keys, of_keys.row, of_keys.column);
  d_values.put(values, of_keys.row, of_keys.column);
  barrier();
  T* const out = d_qkv + first * head.ld;
  const u64 left = left_of(sequence, first);
  write_tile(out + (head.k - qkv), head.ld, left, keys);
  write_tile(out + (head.v - qkv), head.ld, left, values);
}

}  // namespace

/// y must be aligned to 16 bytes, too.
#define FLASH_PREPARATIONS(T, suffix, D)                                                \
  KERNEL(flash_tops_##D##_##suffix, u32* tops, const T* qkv, u64 sequence, u64 heads,   \
         u64 kv_heads) {                                                                \
    flash_tops<T, D>(tops, qkv, sequence, heads, kv_heads);                             \
  }                                                                                     \
  KERNEL(flash_rows_##D##_##suffix, QueryRow* rows, u32* sums, const T* dy, const T* y, \
         const float* log_sum, const float* tops, u64 batch, u64 sequence, u64 heads,   \
         u64 kv_heads) {                                                                \
    flash_rows<T, D>(rows, sums, dy, y, log_sum, tops, batch, sequence, heads,          \
                     kv_heads);                                                         \
  }
#define FLASH_KERNELS(T, suffix, D) \
  FLASH_PREPARATIONS(T, suffix, D)  \
  FLASH_GRADIENTS(T, suffix, D, flash_backward, Part<T COMMA tile_queries COMMA D>)
// On GPUs each kernel takes seconds to compile, so the macros below select one.
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
