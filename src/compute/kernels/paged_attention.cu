// Attention over a paged cache of keys and values, and the kernel that writes the cache. The cache
// has blocks of `page_tokens` tokens; tables[sequence, table_width] maps a sequence's pages to
// blocks. Every token names its sequence and its position in it. So one launch can compute whole
// prompts, parts of them, single tokens of many sequences, or all of these together.
#include "paged_cache.h"

namespace {

#if defined(ON_CPU)
constexpr u32 keys_ahead = 1;
#else
constexpr u32 keys_ahead = 4;  // keys of each team that are in flight at the same time
#endif
#if defined(ON_CPU) && defined(__AVX__)
// These CPUs keep a group's vectors in memory, not in registers. Loops over the group's query heads
// are not unrolled there: that would double the code and be no faster.
#define UNROLL_GROUP
#else
#define UNROLL_GROUP UNROLL_LOOP
#endif

// ---- Writing the cache ----

/// Copies a token's key or value into the cache, `to` with the factor `factor`. A wave calls it
/// together; each lane has written those elements of `from` that it reads.
template <typename T, typename Cached>
DEVICE void store_vector(Cached* to, float* factor, const T* from, u64 width) {
  const u64 half = width / 2;
  float inverse = 1;
  if constexpr (is_coded<Cached>) {
    float largest = 0;
    for (u64 i = lane_index(); i < half; i += wave_width) {
      const float low = decode(from[i]), high = decode(from[half + i]);
      largest = larger(largest, larger(larger(low, -low), larger(high, -high)));
    }
    const auto scale = RowScale<Cached>::of(wave_reduce(largest, Maximum{}));
    inverse = scale.inverse;
    if (lane_index() == 0) *factor = scale.factor;
  }
  const auto store = [&](u64 i) {
    if constexpr (is_coded<Cached>) {
      to[i] = encode<Cached>(decode(from[i]) * inverse);
    } else {
      to[i] = from[i];
    }
  };
  for (u64 i = lane_index(); i < half; i += wave_width) {
    store(i);
    store(half + i);
  }
}

template <typename T, typename Cached>
DEVICE void rotate_and_store(T* qkv, const LayerCache<Cached>& cache, const T* query_norm,
                             const T* key_norm, const float* angles, const i32* positions,
                             const i32* sequences, const i32* tables, u64 table_width, u64 tokens,
                             u64 heads, u64 kv_heads, u64 width, float epsilon) {
  let_next_kernel_begin();  // the next kernel waits, too, before it touches this one's output
  wait_for_previous_kernel();
  const u64 all_heads = heads + 2 * kv_heads, half = width / 2;
  const u32 waves = block_threads() / wave_width;
  const Tiles mine = my_tiles(tokens * all_heads, waves);
  for (u64 tile = mine.begin; tile < mine.end; tile += mine.step) {
    const u64 item = tile + wave_index();
    if (item >= tokens * all_heads) continue;  // true for whole waves only
    const u64 token = item / all_heads, head = item % all_heads;
    T* const from = qkv + item * width;
    const u64 position = static_cast<u64>(positions[token]);
    const i32* const table = tables + static_cast<u64>(sequences[token]) * table_width;
    const bool is_query = head < heads, is_value = head >= heads + kv_heads;
    if (!is_value) {
      norm_and_rotate_head(from, is_query ? query_norm : key_norm, angles + position * width, width,
                           epsilon, [&](u64 i, Rotated r) {
                             from[i] = encode<T>(r.low);
                             from[half + i] = encode<T>(r.high);
                           });
    }
    if (is_query) continue;
    const u64 kv_head = head - heads - (is_value ? kv_heads : 0);
    const u64 vector = vector_in_cache(table, position, kv_head, kv_heads);
    float* factor = nullptr;
    if constexpr (is_coded<Cached>) {
      factor = (is_value ? cache.value_factors : cache.key_factors) + vector;
    }
    store_vector((is_value ? cache.values : cache.keys) + vector * width, factor, from, width);
  }
}

// ---- Attention ----

/// A lane's part of some keys or values, with the factors of codes.
template <typename Cached, int D, u32 KEYS>
struct LoadedVectors {
  Pack<Cached, row_pack> pack[KEYS][lane_packs<D>];
  float factor[KEYS];

  DEVICE void load(u32 j, const Cached* all, const float* factors, u64 vector) {
    const u32 lane = thread_index() % team_lanes<D>;
    UNROLL_LOOP
    for (u32 p = 0; p < lane_packs<D>; ++p) {
      pack[j][p] = load_pack<row_pack>(all + vector * D + (p * team_lanes<D> + lane) * row_pack);
    }
    factor[j] = is_coded<Cached> ? factors[vector] : 1;
  }
};

/// Running result of a team for each query head that shares its keys: the largest score (times
/// scale and log2 e), the sum of exponentials relative to it, and the sum of values weighted by
/// these exponentials. Each lane holds its packs of the last.
template <typename Cached, int D>
struct SeenKeys {
  static constexpr u32 lanes = team_lanes<D>, packs = lane_packs<D>;
  float largest[MOST_GROUP], total[MOST_GROUP];
  Floats sums[MOST_GROUP][packs];

  DEVICE void reset() {
    UNROLL_GROUP
    for (u32 g = 0; g < MOST_GROUP; ++g) {
      largest[g] = nothing_seen;
      total[g] = 0;
      UNROLL_LOOP
      for (u32 p = 0; p < packs; ++p) sums[g][p] = floats_of(0);
    }
  }

  /// Rescales the results to be relative to `most`.
  DEVICE void fade_to(u32 g, float most) {
    const float fade = fast_exp2(largest[g] - most);
    largest[g] = most;
    total[g] *= fade;
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) sums[g][p] = sums[g][p] * floats_of(fade);
  }

  /// Adds up to KEYS keys with their values; only the first ones may exist. The count is the same
  /// in all lanes.
  template <u32 KEYS>
  DEVICE void take(u32 group, const Floats (&q)[MOST_GROUP][packs],
                   const LoadedVectors<Cached, D, KEYS>& k, const LoadedVectors<Cached, D, KEYS>& v,
                   const bool (&there)[KEYS]) {
    float scores[KEYS][MOST_GROUP];
    UNROLL_LOOP
    for (u32 j = 0; j < KEYS; ++j) {
      UNROLL_GROUP
      for (u32 g = 0; g < MOST_GROUP; ++g) {
        if (g >= group) break;
        float score = 0;
        UNROLL_LOOP
        for (u32 p = 0; p < packs; ++p) score += (q[g][p] * to_floats(k.pack[j][p])).sum();
        UNROLL_LOOP
        for (u32 mask = 1; mask < lanes; mask *= 2) score += shuffle_xor(score, mask);
        if (is_coded<Cached>) score *= k.factor[j];
        scores[j][g] = there[j] ? score : 2 * nothing_seen;
      }
    }
    UNROLL_GROUP
    for (u32 g = 0; g < MOST_GROUP; ++g) {
      if (g >= group) break;
      float most = largest[g];
      UNROLL_LOOP
      for (u32 j = 0; j < KEYS; ++j) most = larger(most, scores[j][g]);
      fade_to(g, most);
      UNROLL_LOOP
      for (u32 j = 0; j < KEYS; ++j) {
        const float weight = fast_exp2(scores[j][g] - most);
        total[g] += weight;
        const float of_codes = is_coded<Cached> ? weight * v.factor[j] : weight;
        UNROLL_LOOP
        for (u32 p = 0; p < packs; ++p) {
          sums[g][p] = sums[g][p] + to_floats(v.pack[j][p]) * floats_of(of_codes);
        }
      }
    }
  }
};

/// Grid: tokens x kv_heads, splits of the keys. All query heads of one key head are computed
/// together, so that it is read once. The last block of a token's splits to finish merges them.
/// With `angles`, no token sees another token of this launch, and qkv is the unmodified output of
/// the model's QKV product. Then a block norms and rotates its queries itself, and the block that
/// has the token's own key writes this key and its value into the cache.
template <int D, typename T, typename Cached>
DEVICE void paged_attention(T* y, float* sums_of_splits, float* weights_of_splits, u32* arrived,
                            const T* qkv, const LayerCache<Cached>& cache, const T* query_norm,
                            const T* key_norm, const float* angles, const i32* positions,
                            const i32* sequences, const i32* tables, u64 table_width, u64 heads,
                            u64 kv_heads, u64 splits, float scale, float epsilon) {
  using Seen = SeenKeys<Cached, D>;
  constexpr u32 lanes = Seen::lanes, packs = Seen::packs, teams = teams_of<D>;
  SHARED SeenInParts<D, teams_of<D>> all __attribute__((aligned(32)));
  let_next_kernel_begin();
  const KeysOfBlock block =
      KeysOfBlock::here(positions, sequences, tables, table_width, kv_heads, splits);
  block.fetch_early<D>(cache);
  wait_for_previous_kernel();
  const u32 group = GROUP_OF(heads, kv_heads);
  const u32 team = thread_index() / lanes, lane = thread_index() % lanes;
  const u64 begin = block.begin, kv_head = block.kv_head;
  const bool rotates = angles != nullptr, sees_own = rotates && block.have_own();
  const u64 cached_end = sees_own ? block.position : block.end;
  const float* const cosines = rotates ? angles + block.position * D : nullptr;
  const T* const of_token = qkv + block.token * (heads + 2 * kv_heads) * D;
  const auto element = [&](u32 pack) { return (pack * lanes + lane) * row_pack; };

  Floats q[MOST_GROUP][packs];
  UNROLL_GROUP
  for (u32 g = 0; g < MOST_GROUP; ++g) {
    if (g >= group) break;
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) {
      q[g][p] = load_floats(of_token + (kv_head * group + g) * D + element(p));
    }
    if (rotates) norm_and_rotate<T, D>(q[g], query_norm, cosines, epsilon);
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) q[g][p] = q[g][p] * floats_of(scale * log2_e);
  }
  Seen mine;
  mine.reset();
  if (sees_own) {  // the same in the whole block
    const T* const own = of_token + (heads + kv_head) * D;
    const u64 vector = block.vector(block.position);
    Floats key[packs], value[packs];
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) {
      key[p] = load_floats(own + element(p));
      value[p] = load_floats(own + kv_heads * D + element(p));
    }
    norm_and_rotate<T, D>(key, key_norm, cosines, epsilon);
    LoadedVectors<Cached, D, 1> own_key, own_value;
    own_key.factor[0] = encode_for_cache<Cached, D>(own_key.pack[0], key);
    own_value.factor[0] = encode_for_cache<Cached, D>(own_value.pack[0], value);
    if (team == 0) {
      UNROLL_LOOP
      for (u32 p = 0; p < packs; ++p) {
        store_pack(cache.keys + vector * D + element(p), own_key.pack[0][p]);
        store_pack(cache.values + vector * D + element(p), own_value.pack[0][p]);
      }
      if (is_coded<Cached> && lane == 0) {
        cache.key_factors[vector] = own_key.factor[0];
        cache.value_factors[vector] = own_value.factor[0];
      }
    }
    mine.take(group, q, own_key, own_value, {team == 0});
  }
  for (u64 base = begin; base < cached_end; base += teams * keys_ahead) {  // the same in all lanes
    LoadedVectors<Cached, D, keys_ahead> k, v;
    bool there[keys_ahead];
    UNROLL_LOOP
    for (u32 j = 0; j < keys_ahead; ++j) {
      const u64 key = base + j * teams + team;
      there[j] = key < cached_end;
      const u64 vector = block.vector(there[j] ? key : begin);
      k.load(j, cache.keys, cache.key_factors, vector);
      v.load(j, cache.values, cache.value_factors, vector);
    }
    mine.take(group, q, k, v, there);
  }

  UNROLL_GROUP
  for (u32 g = 0; g < MOST_GROUP; ++g) {
    if (g >= group) break;
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) store_pack(&all.sums[g][team][element(p)], mine.sums[g][p]);
    if (lane == 0) {
      all.largest[g][team] = mine.largest[g];
      all.total[g][team] = mine.total[g];
    }
  }
  const SplitResults results = {sums_of_splits, weights_of_splits, splits, block.split};
  results.finish(y, arrived + block_index(), all, block.token * heads + kv_head * group, group);
}

}  // namespace

/// Norms (unless `query_norm` is null) and rotates the queries and keys of qkv[tokens, heads + 2
/// kv_heads, width] in place, then copies keys and values into the cache. angles[positions, width]
/// holds cosines, then sines, width / 2 of each. Element i is paired with i + width / 2.
/// keys and values: as Cached, with factors if these are codes.
#define CACHE_KERNEL(T, Cached, suffix)                                                       \
  KERNEL(rotate_and_store_##suffix, T* qkv, Cached* keys, Cached* values, float* key_factors, \
         float* value_factors, const T* query_norm, const T* key_norm, const float* angles,   \
         const i32* positions, const i32* sequences, const i32* tables, u64 table_width,      \
         u64 tokens, u64 heads, u64 kv_heads, u64 width, float epsilon) {                     \
    const LayerCache<Cached> cache = {keys, values, key_factors, value_factors};              \
    rotate_and_store(qkv, cache, query_norm, key_norm, angles, positions, sequences, tables,  \
                     table_width, tokens, heads, kv_heads, width, epsilon);                   \
  }

/// Computes y[tokens, heads, D] = softmax(scale q k) v over the tokens of the same sequence up to
/// its own. With more than one of `splits`, sums_of_splits[tokens, heads, splits, D] and
/// weights_of_splits[tokens, heads, splits, 2] are scratch memory, and arrived[tokens, kv_heads] is
/// zero before and after. If `angles` is not null, the tokens' keys and values are not in the cache
/// yet, and the norms are as above.
#define PAGED_KERNEL(T, Cached, suffix, D)                                                      \
  KERNEL_OF(paged_threads, 4, paged_attention_##D##_##suffix, T* y, float* sums_of_splits,      \
            float* weights_of_splits, u32* arrived, const T* qkv, Cached* keys, Cached* values, \
            float* key_factors, float* value_factors, const T* query_norm, const T* key_norm,   \
            const float* angles, const i32* positions, const i32* sequences, const i32* tables, \
            u64 table_width, u64 heads, u64 kv_heads, u64 splits, float scale, float epsilon) { \
    const LayerCache<Cached> cache = {keys, values, key_factors, value_factors};                \
    paged_attention<D>(y, sums_of_splits, weights_of_splits, arrived, qkv, cache, query_norm,   \
                       key_norm, angles, positions, sequences, tables, table_width, heads,      \
                       kv_heads, splits, scale, epsilon);                                       \
  }
#define CACHE_KERNELS_OF_CODES(Cached, codes) \
  CACHE_KERNEL(float, Cached, f32_##codes)    \
  CACHE_KERNEL(Bf16, Cached, bf16_##codes)
#define PAGED_KERNELS_OF_CODES(Cached, codes, D) \
  PAGED_KERNEL(float, Cached, f32_##codes, D)    \
  PAGED_KERNEL(Bf16, Cached, bf16_##codes, D)

IF_NUMBERS_CACHE(CACHE_KERNEL(float, float, f32) CACHE_KERNEL(Bf16, Bf16, bf16))
IF_E4M3_CACHE(CACHE_KERNELS_OF_CODES(E4m3, e4m3))
IF_E4M3_FNUZ_CACHE(CACHE_KERNELS_OF_CODES(E4m3Fnuz, e4m3_fnuz))

#define PAGED_KERNELS(D)                                                                 \
  IF_NUMBERS_CACHE(PAGED_KERNEL(float, float, f32, D) PAGED_KERNEL(Bf16, Bf16, bf16, D)) \
  IF_E4M3_CACHE(PAGED_KERNELS_OF_CODES(E4m3, e4m3, D))                                   \
  IF_E4M3_FNUZ_CACHE(PAGED_KERNELS_OF_CODES(E4m3Fnuz, e4m3_fnuz, D))
#if !defined(PAGED_WIDTH) || PAGED_WIDTH == 16
PAGED_KERNELS(16)
#endif
#if !defined(PAGED_WIDTH) || PAGED_WIDTH == 32
PAGED_KERNELS(32)
#endif
#if !defined(PAGED_WIDTH) || PAGED_WIDTH == 64
PAGED_KERNELS(64)
#endif
#if !defined(PAGED_WIDTH) || PAGED_WIDTH == 128
PAGED_KERNELS(128)
#endif
