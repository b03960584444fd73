// The gradients of flash_backward.cu, computed by warpgroups (warpgroup_tile.h). Each group has 64
// of a tile's keys, and on Hopper its products read tiles from shared memory directly.

// These defaults equal those of flash_backward.cu, whose kernels flash_tops() and flash_rows()
// prepare the inputs.
#if defined(FLASH_WAVES)
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__) || defined(__HIP__)
#define FLASH_WAVES 4
#define FLASH_KEYS 64
#define FLASH_QUERIES 64
#define FLASH_STAGES 1
#else
#define FLASH_WAVES 1
#define FLASH_KEYS 64
#define FLASH_QUERIES 64
#define FLASH_STAGES 1
#endif

#include "flash_gradients.h"
#include "warpgroup_tile.h"

namespace {

/// A wave's part of the gradients of a tile's queries, where warpgroups compute them.
template <typename T, int D>
struct GroupPart {
  static constexpr int groups = waves / group_waves, down = tile_queries / group_rows;
  static constexpr int columns = D * down / groups;
  using Sums = GroupTile<T, columns>;
  int group_row, row, column;
  DEVICE GroupPart() {
    const int wave = static_cast<int>(wave_index()), group = wave / group_waves;
    group_row = group % down * group_rows;
    row = group_row + wave % group_waves * Sums::rows;
    column = group / down * columns;
  }
};

/// Computes what flash_backward() computes, with warpgroups that each have 64 of the tile's keys.
template <typename T, int D>
DEVICE void flash_backward_wgmma(T* d_qkv, u32* sums, const T* dy, const T* qkv,
                                 const QueryRow* all_rows, const float* tops,
                                 const i32* document_starts, u64 sequence, u64 heads,
                                 u64 kv_heads, float scale) {
  using Keys = PanelTile<T, tile_keys, D>;
  using Queries = PanelTile<T, tile_queries, D>;
  using Scores = PanelTile<T, tile_keys, tile_queries>;
  SHARED QueryRow rows[stages][tile_queries];
  SHARED QueryDocuments<tile_queries> of_documents[stages];
  SHARED float units[D];  // units of 1 / scale / reach, for each column
  const KeyHead<T> head(qkv, sequence, heads, kv_heads, D, tile_keys);
  const Keys keys = {memory_of_panels<T>()}, values = after<Keys>(keys);
  const Scores differences = after<Scores>(values);
  const Queries first_queries = after<Queries>(differences);
  const auto queries_at = [&](int stage) {
    return Queries{first_queries.data + stage * 2 * Queries::elements};
  };
  // This scratch is used where registers do not hold probabilities in the layout of the next
  // product's operand.
  const Scores probabilities = {queries_at(stages).data};
  const u64 first = head.tile * tile_keys;  // tiles with the most queries run first
  const u64 begin = first / tile_queries * tile_queries;
  const SeeingQueries seeing(document_starts, head.first_token, sequence, first);
  const u64 query_tiles = (sequence + tile_queries - 1) / tile_queries;

  using QueryCopy = TileCopy<T, tile_queries, Queries::panel_columns, threads>;
  {
    TileCopy<T, tile_keys, Keys::panel_columns, threads> copy(head.k, head.ld, first, 0, sequence,
                                                              D, true);
    copy_panels(copy, keys);
    copy_panels(copy, values, head.v - head.k);  // values lie beside the keys
  }
  for (int i = static_cast<int>(thread_index()); i < D; i += threads) {
    units[i] = units_of_bound * inverse_or_zero(scale * tops[head.index * 2 * D + i]);
  }

  const GroupPart<T, D> of_queries;
  const int my_group = static_cast<int>(wave_index()) / group_waves * group_rows;
  const int my_row = static_cast<int>(wave_index()) * GroupTile<T, D>::rows;
  GroupTile<T, D> d_keys, d_values;
  d_keys.fill(0);
  d_values.fill(0);
  const float to_log2 = scale * log2_e;
  for (u64 g = 0; g < head.group; ++g) {
    const u64 query_head = head.query_index(g);
    QueryCopy copy_queries(head.queries(g, D), head.ld, begin, 0, sequence, D, true);
    QueryCopy copy_outputs(head.part(dy, g, D), head.width, begin, 0, sequence, D, true);
    const QueryRow* next_rows = all_rows + query_head * query_tiles * tile_queries + begin;
    u64 next_query = begin;
    const auto load_queries = [&](int stage) {
      if (seeing.documents()) {
        of_documents[stage].load(seeing.starts, next_query, sequence);
        next_query += tile_queries;
      }
      copy_panels(copy_queries, queries_at(stage));
      copy_panels(copy_outputs, after<Queries>(queries_at(stage)));
      for (int i = static_cast<int>(thread_index()); i < tile_queries; i += threads) {
        begin_copy(&rows[stage][i], next_rows + i);
      }
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
      show_to_products();
      barrier();  // these queries have arrived; nobody reads the last ones and their scores any more
      if (stages > 1 && more) load_queries(1 - stage);
      GroupTile<T, tile_queries> p, d;
      begin_product(p, keys, my_group, queries);
      begin_product(d, values, my_group, outputs);
      await_products<1>();
      pin(p);
      p.for_each(
          [&](int, int j, float& score) { score = fast_exp2(score * to_log2 - my_rows[j].log_sum); });
      const int distance = static_cast<int>(query) - static_cast<int>(first) - my_row;
      clear_unseen_keys(p, distance, seeing.documents(), static_cast<i32>(first) + my_row,
                        of_documents[stage].starts);
      Weights<T, tile_queries> of_values, of_keys;
      of_values.take(p, probabilities, my_row);
      await_products<0>();
      pin(d);
      begin_product(d_values, of_values, probabilities, my_row, outputs);
      d.for_each_with(p, [&](int, int j, float& difference, float probability) {
        difference = scale * probability * (difference - my_rows[j].delta);
      });
      d.put(differences, my_row);
      of_keys.take(d, differences, my_row);
      begin_product(d_keys, of_keys, differences, my_row, queries);
      show_to_products();
      barrier();  // all groups have stored their gradients of scores
      typename GroupPart<T, D>::Sums d_queries;
      begin_transposed_product(d_queries, differences, of_queries.group_row, keys, of_queries.column);
      await_products<0>();
      pin(d_values);
      pin(d_keys);
      pin(d_queries);
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
  d_keys.put(keys, my_row);
  d_values.put(values, my_row);
  barrier();
  T* const out = d_qkv + first * head.ld;
  const u64 left = left_of(sequence, first);
  write_tile(out + (head.k - qkv), head.ld, left, keys);
  write_tile(out + (head.v - qkv), head.ld, left, values);
}

}  // namespace

#define FLASH_KERNELS(T, suffix, D) \
  FLASH_GRADIENTS(T, suffix, D, flash_backward_wgmma, GroupPart<T COMMA D>)
// On GPUs each kernel takes seconds to compile, so the macros below select one.
#if defined(FLASH_ONLY)
#define FLASH_SELECTED(T, suffix, D) FLASH_KERNELS(T, suffix, D)
FLASH_SELECTED(FLASH_TYPE, FLASH_ONLY, FLASH_WIDTH)
#else
FLASH_KERNELS(Bf16, bf16, 64)
FLASH_KERNELS(F16, f16, 64)
#if !defined(ON_HIP)  // tiles of heads of width 128 exceed CDNA's 64 KiB of shared memory
FLASH_KERNELS(Bf16, bf16, 128)
FLASH_KERNELS(F16, f16, 128)
#endif
#endif
