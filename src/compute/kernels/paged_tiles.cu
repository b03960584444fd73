// Attention over a paged cache (see paged_attention.cu) on matrix units, for bf16 heads of width 64
// or 128. A wave computes the scores of 16 keys for all query heads that share them, and adds their
// values. Keys and values go from the cache straight into operands, in the order in which wide
// loads deliver them. So every vector of the cache is read once, 16 bytes per lane.
#include "lane_row_loads.h"
#include "paged_cache.h"

namespace {

constexpr int tile_heads = least_columns;  // of these, at most MOST_GROUP exist
constexpr int tile_keys = 16;
static_assert(tile_keys == page_tokens, "the keys of a tile lie one after another in the cache");
#if defined(ON_CPU)
constexpr u32 paged_waves = 1;
#else
constexpr u32 paged_waves = paged_threads / wave_width;
#endif

/// What matrix units read of a cache: bf16 as it is, codes as f16, which holds all their numbers.
template <typename Cached>
struct CacheOperands {
  using Number = F16;
  static constexpr int steps = 4;  ///< of the depth that a lane loads together, 16 bytes

  static DEVICE Pack<F16, lane_depth> numbers(Pack<Cached, lane_depth> codes) {
    return to_halves(codes);
  }
};
template <>
struct CacheOperands<Bf16> {
  using Number = Bf16;
  static constexpr int steps = 2;

  static DEVICE Pack<Bf16, lane_depth> numbers(Pack<Bf16, lane_depth> numbers) { return numbers; }
};

/// Keys x query heads, then columns of values x query heads: a group has at most 8 heads, and there
/// are matrix units whose sums have as few columns, but none with so few rows.
template <typename Cached>
using SumTileOf = WaveTile<typename CacheOperands<Cached>::Number, tile_keys, tile_heads>;

/// The 16 keys from `first` on, of which `count` exist: where their vectors lie in the cache.
struct KeysOfTile {
  u64 first_vector;
  int count;

  DEVICE KeysOfTile(const KeysOfBlock& block, u64 first)
      : first_vector(block.vector(first)), count(bounded(block.end, first)) {}
  /// Returns the number of a key's vector; for one that does not exist, that of the first.
  DEVICE u64 vector(int key) const {
    return first_vector + static_cast<u64>(key < count ? key : 0);
  }
  /// The factors of the tile's keys or values, 0 of those that do not exist, in every column.
  template <typename Tile>
  DEVICE void load_factors(Tile& tile, const float* factors) const {
    tile.for_each([&](int key, int, float& factor) {
      factor = key < count ? factors[first_vector + static_cast<u64>(key)] : 0;
    });
  }
};

/// This lane's part of 16 keys: runs along the depth of each line, in the order in which LineRun
/// loads them.
template <typename Cached, int D>
struct KeyTile {
  using Operands = CacheOperands<Cached>;
  using SumTile = SumTileOf<Cached>;
  using Left = typename SumTile::Left;
  static constexpr int run = Operands::steps * tile_depth;
  LineRun<Cached, Operands::steps> runs[Left::lines][D / run];
  SumTile factors;  ///< of codes

  DEVICE void load(const LayerCache<Cached>& cache, const KeysOfTile& keys) {
    UNROLL_LOOP
    for (int l = 0; l < Left::lines; ++l) {
      const Cached* const key = cache.keys + keys.vector(Left::line(l)) * D;
      UNROLL_LOOP
      for (int r = 0; r < D / run; ++r) {
        runs[l][r].template load<false>(key, static_cast<u64>(r * run + lane_part()), D);
      }
    }
    if constexpr (is_coded<Cached>) keys.load_factors(factors, cache.key_factors);
  }
  /// Returns where this lane's elements of a run begin.
  static DEVICE int lane_part() {
    return SumTile::depth_part() * LineRun<Cached, Operands::steps>::elements;
  }
  DEVICE Left operand(int r, int step) const {
    Left left;
    UNROLL_LOOP
    for (int l = 0; l < Left::lines; ++l) {
      left.set(l, Operands::numbers(runs[l][r].step[step]));
    }
    return left;
  }
};

/// The queries of a group as right operands, in the element order of KeyTile.
template <typename Cached, int D>
struct QueryTile {
  using Keys = KeyTile<Cached, D>;
  using Number = typename Keys::Operands::Number;
  using Right = typename Keys::SumTile::Right;
  static constexpr int steps = Keys::Operands::steps;
  Right step[D / tile_depth];

  DEVICE void load(const Number* queries) {  // [tile_heads, D]
    UNROLL_LOOP
    for (int l = 0; l < Right::lines; ++l) {
      UNROLL_LOOP
      for (int r = 0; r < D / Keys::run; ++r) {
        LineRun<Number, steps> values;
        values.template load<false>(queries + Right::line(l) * D,
                                    static_cast<u64>(r * Keys::run + Keys::lane_part()), D);
        UNROLL_LOOP
        for (int s = 0; s < steps; ++s) step[r * steps + s].set(l, values.step[s]);
      }
    }
  }
};

/// This lane's part of the values of 16 keys, of which it needs `width` consecutive columns for
/// each group of `together` lines: 16 bytes at most.
template <typename Cached, int D>
struct ValueTile {
  using SumTile = SumTileOf<Cached>;
  using Left = typename SumTile::Left;
  static constexpr int tiles = D / 16;
  static constexpr int together = is_coded<Cached> && Left::lines > 1 ? 2 : 1;
  static constexpr int width = tiles * together;
  using Columns = Pack<Cached, width>;
  Columns of_key[Left::lines / together][lane_depth];
  SumTile factors;  ///< of codes

  /// Returns which column of the values is row c of tile t of the products.
  static DEVICE int column(int tile, int c) {
    constexpr int apart = 16 / Left::lines * together;  // columns of a group
    const int in_group = c % apart, group = c / apart;
    return group * (apart * tiles) + in_group % (apart / together) * width +
           in_group / (apart / together) * tiles + tile;
  }
  DEVICE void load(const LayerCache<Cached>& cache, const KeysOfTile& keys) {
    UNROLL_LOOP
    for (int e = 0; e < lane_depth; ++e) {
      const Cached* const value = cache.values + keys.vector(SumTile::depth_of(e)) * D;
      UNROLL_LOOP
      for (int g = 0; g < Left::lines / together; ++g) {
        of_key[g][e] = load_pack<width>(value + column(0, Left::line(g * together)));
      }
    }
    if constexpr (is_coded<Cached>) keys.load_factors(factors, cache.value_factors);
  }
  DEVICE Left operand(int tile) const {
    Left left;
    UNROLL_LOOP
    for (int l = 0; l < Left::lines; ++l) {
      left.set(l, elements(of_key[l / together], l % together * tiles + tile));
    }
    return left;
  }

 private:
  /// Returns column `at` of each of the lane's keys.
  static DEVICE typename SumTile::Elements elements(const Columns (&keys)[lane_depth], int at) {
#if defined(ON_CPU)
    Cached all[lane_depth];
    for (int e = 0; e < lane_depth; ++e) all[e] = bits_as<Elements>(keys[e]).v[at];
    return CacheOperands<Cached>::numbers(load_pack<lane_depth>(all));
#else
    Pack<u32, lane_depth / 2> words;
    constexpr int of_word = 4 / sizeof(Cached);
    UNROLL_LOOP
    for (int w = 0; w < lane_depth / 2; ++w) {
      const u32 first = bits_as<Words>(keys[2 * w]).v[at / of_word],
                second = bits_as<Words>(keys[2 * w + 1]).v[at / of_word];
      if constexpr (is_coded<Cached>) {
        const u32 two = bytes_in_turn(first, second, at % 4 >= 2) >> at % 2 * 16;
        words.v[w] = to_halves(Pack<Cached, 4>{{two}}).v[0];
      } else {
        words.v[w] = at % 2 == 0 ? lower_halves(first, second) : upper_halves(first, second);
      }
    }
    return bits_as<typename SumTile::Elements>(words);
#endif
  }
#if defined(ON_CPU)
  struct Elements {
    Cached v[width];
  };
#else
  using Words = Pack<u32, width * sizeof(Cached) / 4>;
#endif
};

/// Running result of a wave for each query head, in its column's slot: the largest score (times
/// scale and log2 e), this lane's part of the sum of exponentials relative to it, and the values
/// weighted by these. If values are codes, the sums are relative to the values' largest factor,
/// so that the weights of codes are at most 1, which f16 holds.
template <typename Cached, int D>
struct SeenByWave {
  using SumTile = SumTileOf<Cached>;
  using Values = ValueTile<Cached, D>;
  SumTile sums[Values::tiles];
  float largest[SumTile::column_slots], total[SumTile::column_slots];
  float unit, inverse_unit;  ///< the largest factor

  DEVICE void reset() {
    UNROLL_LOOP
    for (int s = 0; s < SumTile::column_slots; ++s) {
      largest[s] = nothing_seen;
      total[s] = 0;
    }
    UNROLL_LOOP
    for (int t = 0; t < Values::tiles; ++t) sums[t].fill(0);
    unit = inverse_unit = 0;
  }

  /// Takes the unscaled scores of 16 keys, of which the first `count` exist, and replaces them by
  /// the weights of their values.
  DEVICE void weigh(SumTile& scores, const SumTile& factors, float scale, int count) {
    scores.for_each_with(factors, [&](int key, int, float& score, float factor) {
      const float scaled = score * (is_coded<Cached> ? factor : scale);
      score = key < count ? scaled : 2 * nothing_seen;
    });
    const auto most = scores.reduce_columns(Maximum{});
    bool fades = false;
    float fade[SumTile::column_slots];
    UNROLL_LOOP
    for (int s = 0; s < SumTile::column_slots; ++s) {
      const float together = larger(largest[s], most.slot[s]);
      fade[s] = fast_exp2(largest[s] - together);
      fades = fades || together > largest[s];
      largest[s] = together;
    }
    scores.for_each_in_columns(
        [&](int slot, float& score) { score = fast_exp2(score - largest[slot]); });
    if (any_lane(fades)) {
      UNROLL_LOOP
      for (int t = 0; t < Values::tiles; ++t) {
        sums[t].for_each_in_columns([&](int slot, float& sum) { sum *= fade[slot]; });
      }
      UNROLL_LOOP
      for (int s = 0; s < SumTile::column_slots; ++s) total[s] *= fade[s];
    }
    scores.for_each_in_columns([&](int slot, float& weight) { total[slot] += weight; });
  }

  /// Turns the weights of values into those of their codes.
  DEVICE void weigh_codes(SumTile& weights, const SumTile& factors) {
    const float most = factors.reduce_columns(Maximum{}).slot[0];
    if (most > unit) {  // the same in all lanes
      const float to_unit = unit / most;
      UNROLL_LOOP
      for (int t = 0; t < Values::tiles; ++t) {
        sums[t].for_each_in_columns([&](int, float& sum) { sum *= to_unit; });
      }
      unit = most;
      inverse_unit = 1 / most;
    }
    weights.for_each_with(
        factors, [&](int, int, float& weight, float factor) { weight *= factor * inverse_unit; });
  }

  DEVICE void add(const typename SumTile::Right& weights, const Values& values) {
    UNROLL_LOOP
    for (int t = 0; t < Values::tiles; ++t) sums[t].multiply_add(values.operand(t), weights);
  }

  /// Returns the sums of exponentials of all lanes.
  DEVICE typename SumTile::Columns totals() const {
    SumTile parts;
    bool placed[SumTile::column_slots] = {};
    parts.for_each_in_columns([&](int slot, float& part) {
      part = placed[slot] ? 0 : total[slot];
      placed[slot] = true;
    });
    return parts.reduce_columns(Sum{});
  }
};

/// Grid, arguments and results are those of paged_attention().
template <int D, typename Cached>
DEVICE void paged_tiles(Bf16* y, float* sums_of_splits, float* weights_of_splits, u32* arrived,
                        const Bf16* qkv, const LayerCache<Cached>& cache, const Bf16* query_norm,
                        const Bf16* key_norm, const float* angles, const i32* positions,
                        const i32* sequences, const i32* tables, u64 table_width, u64 heads,
                        u64 kv_heads, u64 splits, float scale, float epsilon) {
  constexpr u32 lanes = team_lanes<D>, packs = lane_packs<D>;
  using Keys = KeyTile<Cached, D>;
  using Values = ValueTile<Cached, D>;
  using SumTile = SumTileOf<Cached>;
  using Number = typename Keys::Operands::Number;
  SHARED SeenInParts<D, paged_waves> all __attribute__((aligned(32)));
  SHARED Number queries[tile_heads * D] __attribute__((aligned(128)));
  let_next_kernel_begin();
  const KeysOfBlock block =
      KeysOfBlock::here(positions, sequences, tables, table_width, kv_heads, splits);
  block.fetch_early<D>(cache);
  wait_for_previous_kernel();
  const u32 group = GROUP_OF(heads, kv_heads);
  const u32 team = thread_index() / lanes, lane = thread_index() % lanes;
  const u64 begin = block.begin, end = block.end, kv_head = block.kv_head;
  const float* const cosines = angles != nullptr ? angles + block.position * D : nullptr;
  const Bf16* const of_token = qkv + block.token * (heads + 2 * kv_heads) * D;
  const auto element = [&](u32 pack) { return (pack * lanes + lane) * row_pack; };
  // Queries of codes are scaled before they become f16, whose range ends at 65504.
  const Floats of_query = floats_of(is_coded<Cached> ? scale * log2_e : 1);

  // Each team stores one query at a time in shared memory. The row after the queries is the token's
  // own key, which goes into the cache. All lanes take part, because shuffles need them.
  const bool has_own = cosines != nullptr && block.have_own();
  const u32 rows = group + (has_own ? 1 : 0);
  for (u32 first = 0; first < tile_heads || first < rows; first += teams_of<D>) {
    const u32 row = first + team;
    const bool is_own = row >= group;  // if the block has it
    const Bf16* const own = of_token + (heads + kv_head) * D;
    const Bf16* const from = is_own ? own : of_token + (kv_head * group + row) * D;
    Floats x[packs];
    if (first < rows) {
      UNROLL_LOOP
      for (u32 p = 0; p < packs; ++p) x[p] = load_floats(from + element(p));
      if (cosines != nullptr) {
        norm_and_rotate<Bf16, D>(x, is_own ? key_norm : query_norm, cosines, epsilon);
      }
    }
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) {
      if (row >= tile_heads) break;
      store_floats(queries + row * D + element(p), is_own ? floats_of(0) : x[p] * of_query);
    }
    if (!has_own || group < first || group >= first + teams_of<D>) continue;  // in the whole block
    Floats value[packs];
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) value[p] = load_floats(own + kv_heads * D + element(p));
    Pack<Cached, row_pack> cached_key[packs], cached_value[packs];
    const float key_factor = encode_for_cache<Cached, D>(cached_key, x),
                value_factor = encode_for_cache<Cached, D>(cached_value, value);
    if (row != group) continue;
    const u64 vector = block.vector(block.position);
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) {
      store_pack(cache.keys + vector * D + element(p), cached_key[p]);
      store_pack(cache.values + vector * D + element(p), cached_value[p]);
    }
    if (is_coded<Cached> && lane == 0) {
      cache.key_factors[vector] = key_factor;
      cache.value_factors[vector] = value_factor;
    }
  }
  barrier();

  QueryTile<Cached, D> q;
  q.load(queries);
  SeenByWave<Cached, D> mine;
  mine.reset();
  constexpr u64 stride = u64{paged_waves} * tile_keys;
  u64 first = begin + u64{wave_index()} * tile_keys;
  Keys k;
  if (first < end) k.load(cache, {block, first});
  for (; first < end; first += stride) {
    const KeysOfTile keys(block, first);
    Values v;
    v.load(cache, keys);
    SumTile scores;
    scores.fill(0);
    UNROLL_LOOP
    for (int r = 0; r < D / Keys::run; ++r) {
      UNROLL_LOOP
      for (int s = 0; s < Keys::Operands::steps; ++s) {
        scores.multiply_add(k.operand(r, s), q.step[r * Keys::Operands::steps + s]);
      }
    }
    const SumTile key_factors = is_coded<Cached> ? k.factors : scores;
    if (first + stride < end) k.load(cache, {block, first + stride});
    mine.weigh(scores, key_factors, scale * log2_e, keys.count);
    if constexpr (is_coded<Cached>) mine.weigh_codes(scores, v.factors);
    typename SumTile::Right weights;
    weights.take(scores);
    mine.add(weights, v);
  }

  const float unit = is_coded<Cached> ? mine.unit : 1;
  UNROLL_LOOP
  for (int t = 0; t < Values::tiles; ++t) {
    mine.sums[t].for_each([&](int c, int g, float sum) {
      if (static_cast<u32>(g) < group) {
        all.sums[g][wave_index()][Values::column(t, c)] = sum * unit;
      }
    });
  }
  const auto total = mine.totals();
  SumTile::for_each_column([&](int slot, int g) {
    if (static_cast<u32>(g) < group && SumTile::first_in_column()) {
      all.largest[g][wave_index()] = mine.largest[slot];
      all.total[g][wave_index()] = total.slot[slot];
    }
  });
  const SplitResults results = {sums_of_splits, weights_of_splits, splits, block.split};
  results.finish(y, arrived + block_index(), all, block.token * heads + kv_head * group, group);
}

}  // namespace

/// Same arguments and results as paged_attention.cu but for rounding: weights of values are bf16,
/// or with codes f16, and so are queries. `blocks`: how many share a multiprocessor.
#define TILES_KERNEL(D, Cached, suffix, blocks)                                                    \
  KERNEL_OF(paged_threads, blocks, paged_tiles_##D##_##suffix, Bf16* y, float* sums_of_splits,     \
            float* weights_of_splits, u32* arrived, const Bf16* qkv, Cached* keys, Cached* values, \
            float* key_factors, float* value_factors, const Bf16* query_norm,                      \
            const Bf16* key_norm, const float* angles, const i32* positions, const i32* sequences, \
            const i32* tables, u64 table_width, u64 heads, u64 kv_heads, u64 splits, float scale,  \
            float epsilon) {                                                                       \
    const LayerCache<Cached> cache = {keys, values, key_factors, value_factors};                   \
    paged_tiles<D>(y, sums_of_splits, weights_of_splits, arrived, qkv, cache, query_norm,          \
                   key_norm, angles, positions, sequences, tables, table_width, heads, kv_heads,   \
                   splits, scale, epsilon);                                                        \
  }
#define TILES_KERNELS(D)                             \
  IF_NUMBERS_CACHE(TILES_KERNEL(D, Bf16, bf16, 3))   \
  IF_E4M3_CACHE(TILES_KERNEL(D, E4m3, bf16_e4m3, 4)) \
  IF_E4M3_FNUZ_CACHE(TILES_KERNEL(D, E4m3Fnuz, bf16_e4m3_fnuz, 4))
#if !defined(PAGED_WIDTH) || PAGED_WIDTH == 64
TILES_KERNELS(64)
#endif
#if !defined(PAGED_WIDTH) || PAGED_WIDTH == 128
TILES_KERNELS(128)
#endif
