// Attention of tokens to a paged cache (paged_attention.cu says what that is) on matrix units, for
// heads 64 or 128 wide in bf16: a wave computes the scores of 16 keys for all query heads that share
// them, and adds their values. Keys and values go from the cache straight into operands, in the
// order in which wide loads bring them: every vector of the cache is read once, 16 bytes a lane.
#include "lane_row_loads.h"
#include "paged_cache.h"

namespace {

constexpr int tile_heads = 16;  // of which MOST_GROUP at most are there
constexpr int tile_keys = 16;
using SumTile = SmallTile;  // query heads x keys, then query heads x columns of values
using Left = SumTile::Left;
using Right = SumTile::Right;
#if defined(ON_CPU)
constexpr u32 paged_waves = 1;
#else
constexpr u32 paged_waves = paged_threads / wave_width;
#endif

/// This lane's part of 16 keys: of each line, runs along the depth as LineRun brings them.
template <int D>
struct KeyTile {
  static constexpr int steps = 2;  // of a run
  static constexpr int run = steps * tile_depth;
  LineRun<Bf16, steps> runs[Right::lines][D / run];

  DEVICE void load(const Bf16* keys, const KeysOfBlock& block, u64 first) {
    UNROLL_LOOP
    for (int l = 0; l < Right::lines; ++l) {
      const Bf16* const key = keys + block.place<D>(first + static_cast<u64>(Right::line(l)));
      UNROLL_LOOP
      for (int r = 0; r < D / run; ++r) {
        runs[l][r].template load<false>(key, static_cast<u64>(r * run + lane_part()), D);
      }
    }
  }
  /// Where a lane's elements of a run begin.
  static DEVICE int lane_part() {
    return SumTile::depth_part() * LineRun<Bf16, steps>::elements;
  }
};

/// The queries of 16 heads as left operands, in the order of KeyTile.
template <int D>
struct QueryTile {
  using Keys = KeyTile<D>;
  Left step[D / tile_depth];

  DEVICE void load(const Bf16* queries) {  // [tile_heads, D]
    UNROLL_LOOP
    for (int l = 0; l < Left::lines; ++l) {
      UNROLL_LOOP
      for (int r = 0; r < D / Keys::run; ++r) {
        LineRun<Bf16, Keys::steps> values;
        values.template load<false>(queries + Left::line(l) * D,
                                    static_cast<u64>(r * Keys::run + Keys::lane_part()), D);
        UNROLL_LOOP
        for (int s = 0; s < Keys::steps; ++s) step[r * Keys::steps + s].set(l, values.step[s]);
      }
    }
  }
};

/// This lane's part of the values of 16 keys. Column c of tile t of the products is column c *
/// tiles + t of the values, so that a lane needs consecutive ones.
template <int D>
struct ValueTile {
  static constexpr int tiles = D / 16;
  using Columns = Pack<Bf16, tiles>;
  Columns of_key[Right::lines][lane_depth];

  static DEVICE int column(int tile, int c) { return c * tiles + tile; }
  DEVICE void load(const Bf16* values, const KeysOfBlock& block, u64 first) {
    UNROLL_LOOP
    for (int e = 0; e < lane_depth; ++e) {
      const Bf16* const value = values + block.place<D>(first + static_cast<u64>(SumTile::depth_of(e)));
      UNROLL_LOOP
      for (int l = 0; l < Right::lines; ++l) {
        of_key[l][e] = load_pack<tiles>(value + column(0, Right::line(l)));
      }
    }
  }
  DEVICE Right operand(int tile) const {
    Right right;
    UNROLL_LOOP
    for (int l = 0; l < Right::lines; ++l) right.set(l, elements(of_key[l], tile));
    return right;
  }

 private:
  static DEVICE SumTile::Elements elements(const Columns (&keys)[lane_depth], int tile) {
#if defined(ON_CPU)
    Bf16 all[lane_depth];
    for (int e = 0; e < lane_depth; ++e) all[e] = bits_as<Elements>(keys[e]).v[tile];
    return load_pack<lane_depth>(all);
#else
    Pack<u32, lane_depth / 2> words;
    UNROLL_LOOP
    for (int w = 0; w < lane_depth / 2; ++w) {
      const u32 first = bits_as<Words>(keys[2 * w]).v[tile / 2],
                second = bits_as<Words>(keys[2 * w + 1]).v[tile / 2];
      words.v[w] = tile % 2 == 0 ? lower_halves(first, second) : upper_halves(first, second);
    }
    return bits_as<SumTile::Elements>(words);
#endif
  }
#if defined(ON_CPU)
  struct Elements {
    Bf16 v[tiles];
  };
#else
  using Words = Pack<u32, tiles / 2>;
#endif
};

/// What a wave has seen: of each query head, in the slot of its row, the largest score (times scale
/// and log2 e); the exponentials relative to it, added up over tiles; and the values weighted by these.
template <int D>
struct SeenByWave {
  using Values = ValueTile<D>;
  SumTile sums[Values::tiles], totals;
  float largest[SumTile::row_slots];

  DEVICE void reset() {
    UNROLL_LOOP
    for (int s = 0; s < SumTile::row_slots; ++s) largest[s] = nothing_seen;
    UNROLL_LOOP
    for (int t = 0; t < Values::tiles; ++t) sums[t].fill(0);
    totals.fill(0);
  }

  /// Takes the scores of 16 keys, unscaled, of which the first `count` are there. Leaves in `scores`
  /// the weights of their values.
  DEVICE void weigh(SumTile& scores, float scale, int count) {
    scores.for_each([&](int, int key, float& score) {
      score = key < count ? score * scale : 2 * nothing_seen;
    });
    const auto most = scores.reduce_rows([](float a, float b) { return larger(a, b); });
    bool fades = false;
    float fade[SumTile::row_slots];
    UNROLL_LOOP
    for (int s = 0; s < SumTile::row_slots; ++s) {
      const float together = larger(largest[s], most.slot[s]);
      fade[s] = fast_exp2(largest[s] - together);
      fades = fades || together > largest[s];
      largest[s] = together;
    }
    scores.for_each_in_rows(
        [&](int slot, float& score) { score = fast_exp2(score - largest[slot]); });
    if (any_lane(fades)) {
      const auto to_largest = [&](int slot, float& sum) { sum *= fade[slot]; };
      UNROLL_LOOP
      for (int t = 0; t < Values::tiles; ++t) sums[t].for_each_in_rows(to_largest);
      totals.for_each_in_rows(to_largest);
    }
    totals.for_each_with(scores, [](int, int, float& sum, float weight) { sum += weight; });
  }

  DEVICE void add(const Left& weights, const Values& values) {
    UNROLL_LOOP
    for (int t = 0; t < Values::tiles; ++t) sums[t].multiply_add(weights, values.operand(t));
  }
};

/// Grid, arguments and results as of paged_attention().
template <int D>
DEVICE void paged_tiles(Bf16* y, float* sums_of_splits, float* weights_of_splits, u32* arrived,
                        const Bf16* qkv, Bf16* keys, Bf16* values, const Bf16* query_norm,
                        const Bf16* key_norm, const float* angles, const i32* positions,
                        const i32* sequences, const i32* tables, u64 table_width, u64 heads,
                        u64 kv_heads, u64 splits, float scale, float epsilon) {
  constexpr u32 lanes = team_lanes<D>, packs = lane_packs<D>;
  using Weights = SharedTile<Bf16, tile_heads * static_cast<int>(paged_waves), tile_keys>;
  SHARED SeenInParts<D, paged_waves> all __attribute__((aligned(32)));
  SHARED Bf16 queries[tile_heads * D] __attribute__((aligned(128)));
  SHARED Bf16 weights_of_waves[Weights::elements] __attribute__((aligned(128)));
  let_next_kernel_begin();
  const KeysOfBlock block =
      KeysOfBlock::here(positions, sequences, tables, table_width, kv_heads, splits);
  block.fetch_early<Bf16, D>(keys, values);
  wait_for_previous_kernel();
  const u32 group = GROUP_OF(heads, kv_heads);
  const u32 team = thread_index() / lanes, lane = thread_index() % lanes;
  const u64 begin = block.begin, end = block.end, kv_head = block.kv_head;
  const float* const cosines = angles != nullptr ? angles + block.position * D : nullptr;
  const Bf16* const of_token = qkv + block.token * (heads + 2 * kv_heads) * D;
  const auto element = [&](u32 pack) { return (pack * lanes + lane) * row_pack; };

  // Queries into shared memory, one for each team at a time, and after them the token's own key into
  // the cache. Shuffles want all lanes.
  const u32 rows = group + (cosines != nullptr && block.have_own() ? 1 : 0);
  for (u32 first = 0; first < tile_heads; first += teams_of<D>) {
    const u32 row = first + team;
    const bool is_own = row >= group;  // where there is one
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
      store_floats(queries + row * D + element(p), is_own ? floats_of(0) : x[p]);
      if (row != group || row == rows) continue;
      const u64 at = block.place<D>(block.position) + element(p);
      store_floats(keys + at, x[p]);
      store_pack(values + at, load_pack<row_pack>(own + kv_heads * D + element(p)));
    }
  }
  barrier();

  QueryTile<D> q;
  q.load(queries);
  SeenByWave<D> mine;
  mine.reset();
  const Weights staged = {weights_of_waves};
  const int staged_row = tile_heads * static_cast<int>(wave_index());
  constexpr u64 stride = u64{paged_waves} * tile_keys;
  u64 first = begin + u64{wave_index()} * tile_keys;
  KeyTile<D> k;
  if (first < end) k.load(keys, block, first);
  for (; first < end; first += stride) {
    ValueTile<D> v;
    v.load(values, block, first);
    SumTile scores;
    scores.fill(0);
    UNROLL_LOOP
    for (int r = 0; r < D / KeyTile<D>::run; ++r) {
      UNROLL_LOOP
      for (int s = 0; s < KeyTile<D>::steps; ++s) {
        Right right;
        UNROLL_LOOP
        for (int l = 0; l < Right::lines; ++l) right.set(l, k.runs[l][r].step[s]);
        scores.multiply_add(q.step[r * KeyTile<D>::steps + s], right);
      }
    }
    if (first + stride < end) k.load(keys, block, first + stride);
    mine.weigh(scores, scale * log2_e, bounded(end, first));
    if constexpr (!SumTile::sums_are_operands) {
      wave_barrier();  // the operands before have been read
      scores.put(staged, staged_row);
    }
    Left weights;
    weights.take(scores, staged, staged_row, 0);
    mine.add(weights, v);
  }

  UNROLL_LOOP
  for (int t = 0; t < ValueTile<D>::tiles; ++t) {
    mine.sums[t].for_each([&](int g, int c, float sum) {
      if (static_cast<u32>(g) < group) {
        all.sums[g][wave_index()][ValueTile<D>::column(t, c)] = sum;
      }
    });
  }
  const auto total = mine.totals.reduce_rows([](float a, float b) { return a + b; });
  SumTile::for_each_row([&](int slot, int g) {
    if (static_cast<u32>(g) < group && SumTile::first_in_row()) {
      all.largest[g][wave_index()] = mine.largest[slot];
      all.total[g][wave_index()] = total.slot[slot];
    }
  });
  const SplitResults results = {sums_of_splits, weights_of_splits, splits, block.split};
  results.finish(y, arrived + block_index(), all, block.token * heads + kv_head * group, group);
}

}  // namespace

/// As of paged_attention.cu, with the same results but for rounding: weights of values are bf16.
#define TILES_KERNEL(D)                                                                            \
  KERNEL_OF(paged_threads, 2, paged_tiles_##D##_bf16, Bf16* y, float* sums_of_splits,              \
            float* weights_of_splits, u32* arrived, const Bf16* qkv, Bf16* keys, Bf16* values,     \
            const Bf16* query_norm, const Bf16* key_norm, const float* angles,                     \
            const i32* positions, const i32* sequences, const i32* tables, u64 table_width,        \
            u64 heads, u64 kv_heads, u64 splits, float scale, float epsilon) {                     \
    paged_tiles<D>(y, sums_of_splits, weights_of_splits, arrived, qkv, keys, values, query_norm,   \
                   key_norm, angles, positions, sequences, tables, table_width, heads, kv_heads,   \
                   splits, scale, epsilon);                                                        \
  }
#if !defined(PAGED_WIDTH) || PAGED_WIDTH == 64
TILES_KERNEL(64)
#endif
#if !defined(PAGED_WIDTH) || PAGED_WIDTH == 128
TILES_KERNEL(128)
#endif
