// Shared parts of the kernels for attention over a paged cache: the layout of keys and values, norm
// and rotation of these and of queries, and merging partial results over keys.
#pragma once

#include "head_rotation.h"
#include "quantized.h"

// GROUP_OF is the number of query heads that share a key head, MOST_GROUP the most that a kernel
// allows. On GPUs the host defines PAGED_GROUP for one model. On a CPU all head widths are
// compiled, and the size of the group is a run-time value.
#if defined(PAGED_GROUP)
#define GROUP_OF(heads, kv_heads) \
  u32 {                           \
    PAGED_GROUP                   \
  }
#define MOST_GROUP PAGED_GROUP
#else
#define GROUP_OF(heads, kv_heads) static_cast<u32>((heads) / (kv_heads))
#define MOST_GROUP 8
#endif

// What caches hold in the kernels that are compiled: on GPUs the host defines PAGED_CACHE as 0 for
// numbers, 1 for codes of e4m3 and 2 for those of e4m3_fnuz. Each macro is its arguments if such
// kernels are compiled.
#if !defined(PAGED_CACHE) || PAGED_CACHE == 0
#define IF_NUMBERS_CACHE(...) __VA_ARGS__
#else
#define IF_NUMBERS_CACHE(...)
#endif
#if !defined(PAGED_CACHE) || PAGED_CACHE == 1
#define IF_E4M3_CACHE(...) __VA_ARGS__
#else
#define IF_E4M3_CACHE(...)
#endif
#if !defined(PAGED_CACHE) || PAGED_CACHE == 2
#define IF_E4M3_FNUZ_CACHE(...) __VA_ARGS__
#else
#define IF_E4M3_FNUZ_CACHE(...)
#endif

namespace {

constexpr u32 page_tokens = 16;  // tokens of a block of the cache
#if defined(ON_CPU)
constexpr u32 paged_threads = 1;
#else
constexpr u32 paged_threads = 128;
#endif
constexpr float nothing_seen = -1e30f;  // maximum of no scores; differences stay finite

/// Whether the cache holds codes of fp8, with a factor for each vector, instead of numbers.
template <typename Cached>
constexpr bool is_coded = sizeof(Cached) == 1;

/// The keys and values of one layer, [blocks, kv_heads, page_tokens, width] each. The factors of
/// codes are [blocks, kv_heads, page_tokens]; numbers have none, and the pointers are not read.
template <typename Cached>
struct LayerCache {
  Cached *keys, *values;
  float *key_factors, *value_factors;
};

/// Returns the number of a token's key or value of one head among the cache's vectors. `table` maps
/// the pages of the token's sequence to the cache's blocks.
DEVICE u64 vector_in_cache(const i32* table, u64 position, u64 head, u64 kv_heads) {
  const u64 block = static_cast<u64>(table[position / page_tokens]);
  return (block * kv_heads + head) * page_tokens + position % page_tokens;
}

/// The keys from `begin` to `end`, among those that one token sees, that a block attends to in one
/// key head. Grid: tokens * kv_heads in x, splits of the keys in y. Positions and tables are the
/// same for the whole pass, so this is known before the previous kernel has ended.
struct KeysOfBlock {
  u64 token, kv_head, kv_heads, split, position, begin, end;
  const i32* table;  ///< the cache's blocks that hold the token's sequence

  /// positions[tokens] and sequences[tokens] say where each token is; tables[sequences,
  /// table_width] maps each sequence's pages to the cache's blocks.
  static DEVICE KeysOfBlock here(const i32* positions, const i32* sequences, const i32* tables,
                                 u64 table_width, u64 kv_heads, u64 splits) {
    const u64 token = block_index() / kv_heads, split = block_index_y();
    const u64 position = static_cast<u64>(positions[token]), seen = position + 1;
    const u64 share = ((seen + splits - 1) / splits + page_tokens - 1) / page_tokens * page_tokens;
    const u64 begin = split * share, end = begin + share < seen ? begin + share : seen;
    return {token,    block_index() % kv_heads,
            kv_heads, split,
            position, begin,
            end,      tables + static_cast<u64>(sequences[token]) * table_width};
  }
  /// Returns whether the token's own key is one of these keys.
  DEVICE bool have_own() const { return begin <= position && end == position + 1; }
  /// Returns the number of a key's vector in the cache; for a key beyond `end`, that of key
  /// `begin`.
  DEVICE u64 vector(u64 key) const {
    return vector_in_cache(table, key < end ? key : begin, kv_head, kv_heads);
  }
  /// Prefetches the first keys and their values into the device's cache: 64 of numbers, 128 of
  /// codes with their factors. All threads call it.
  template <int D, typename Cached>
  DEVICE void fetch_early(const LayerCache<Cached>& cache) const {
    constexpr u64 line = 128 / sizeof(Cached), lines = (D + line - 1) / line,
                  most = is_coded<Cached> ? 128 : 64;
    if (begin >= end) return;
    const u64 count = end - begin < most ? end - begin : most;
    for (u64 i = thread_index(); i < count * lines; i += block_threads()) {
      const u64 at = vector(begin + i / lines);
      prefetch_line(cache.keys + at * D + i % lines * line);
      prefetch_line(cache.values + at * D + i % lines * line);
      if (!is_coded<Cached> || at % page_tokens != 0) continue;
      prefetch_line(cache.key_factors + at);
      prefetch_line(cache.value_factors + at);
    }
  }
};

// ---- Norms and rotation ----

#if defined(ON_CPU)
template <int D>
constexpr u32 team_lanes = 1;
#else
/// Number of lanes that share a key; each holds one pack of it.
template <int D>
constexpr u32 team_lanes = D / row_pack;
#endif
template <int D>
constexpr u32 lane_packs = D / row_pack / team_lanes<D>;  // packs of a key that a lane holds
template <int D>
constexpr u32 teams_of = paged_threads / team_lanes<D>;  // teams of a block

/// Norms and rotates x[packs], a lane's part of a head's vector, like norm_and_rotate_head() but
/// within a team of lanes. `cosines` points to the cosines of its position, followed by the sines.
template <typename T, int D>
DEVICE void norm_and_rotate(Floats* x, const T* norm, const float* cosines, float epsilon) {
  constexpr u32 lanes = team_lanes<D>, packs = lane_packs<D>, all = D / row_pack;
  const u32 lane = thread_index() % lanes;
  if (norm != nullptr) {
    float squares = 0;
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) squares += (x[p] * x[p]).sum();
    UNROLL_LOOP
    for (u32 mask = 1; mask < lanes; mask *= 2) squares += shuffle_xor(squares, mask);
    const float inverse = fast_rsqrt(squares / D + epsilon);
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) {
      const Floats unit = to_floats(from_floats<T, row_pack>(x[p] * floats_of(inverse)));
      x[p] = unit * load_floats(norm + (p * lanes + lane) * row_pack);
    }
  }
  Floats partner[packs];  // the corresponding elements of the other half
  UNROLL_LOOP
  for (u32 p = 0; p < packs; ++p) {
    if constexpr (packs > 1) {
      partner[p] = x[(p + packs / 2) % packs];
    } else {
      UNROLL_LOOP
      for (int i = 0; i < row_pack; ++i) partner[p].v[i] = shuffle_xor(x[p].v[i], lanes / 2);
    }
  }
  UNROLL_LOOP
  for (u32 p = 0; p < packs; ++p) {
    const u32 pack = p * lanes + lane, of_half = pack % (all / 2);
    const Floats cosine = load_floats(cosines + of_half * row_pack),
                 sine = load_floats(cosines + D / 2 + of_half * row_pack);
    UNROLL_LOOP
    for (int i = 0; i < row_pack; ++i) {
      const float one = x[p].v[i], other = partner[p].v[i];
      x[p].v[i] = pack < all / 2 ? rotate(one, other, cosine.v[i], sine.v[i]).low
                                 : rotate(other, one, cosine.v[i], sine.v[i]).high;
    }
    x[p] = to_floats(from_floats<T, row_pack>(x[p]));
  }
}

// ---- What the cache holds ----

/// Encodes x[packs], a lane's part of a key or value, for the cache. Returns the factor of codes, 1
/// of numbers. All lanes of the wave call it.
template <typename Cached, int D>
DEVICE float encode_for_cache(Pack<Cached, row_pack>* encoded, const Floats* x) {
  constexpr u32 packs = lane_packs<D>;
  float factor = 1, inverse = 1;
  if constexpr (is_coded<Cached>) {
    float largest = 0;
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) largest = largest_magnitude(x[p], largest);
    UNROLL_LOOP
    for (u32 mask = 1; mask < team_lanes<D>; mask *= 2) {
      largest = larger(largest, shuffle_xor(largest, mask));
    }
    const auto scale = RowScale<Cached>::of(largest);
    factor = scale.factor;
    inverse = scale.inverse;
  }
  UNROLL_LOOP
  for (u32 p = 0; p < packs; ++p) {
    encoded[p] = from_floats<Cached, row_pack>(is_coded<Cached> ? x[p] * floats_of(inverse) : x[p]);
  }
  return factor;
}

// ---- Partial results over keys ----

/// Partial results of PARTS parts of a block, in shared memory. For each query head: the largest
/// score (times scale and log2 e), the sum of exponentials relative to it, and the sum of values
/// weighted by these exponentials.
template <int D, u32 PARTS>
struct SeenInParts {
  float sums[MOST_GROUP][PARTS][D];
  float largest[MOST_GROUP][PARTS], total[MOST_GROUP][PARTS];
};

/// Number of columns that a thread merges at a time: with four query heads of width 128, every
/// thread of a block has work.
constexpr u32 merged_columns = 4;
using MergedColumns = Pack<float, merged_columns>;
DEVICE MergedColumns merged_columns_of(float value) {
  return broadcast<float, merged_columns>(value);
}

/// Merges all parts: calls result(g, first column, largest, total, sums) for all columns of each
/// query head.
template <int D, u32 PARTS, typename Result>
DEVICE void merge_parts(const SeenInParts<D, PARTS>& all, u32 group, Result result) {
  for (u32 i = thread_index() * merged_columns; i < group * D;
       i += block_threads() * merged_columns) {
    const u32 g = i / D, column = i % D;
    float most = nothing_seen, weights = 0;
    MergedColumns sums = merged_columns_of(0);
    UNROLL_LOOP
    for (u32 t = 0; t < PARTS; ++t) most = larger(most, all.largest[g][t]);
    UNROLL_LOOP
    for (u32 t = 0; t < PARTS; ++t) {
      const float weight = fast_exp2(all.largest[g][t] - most);
      weights += weight * all.total[g][t];
      sums = sums + load_pack<merged_columns>(&all.sums[g][t][column]) * merged_columns_of(weight);
    }
    result(g, column, most, weights, sums);
  }
}

/// Buffers for the partial results of blocks that each attend to a part of a token's keys:
/// sums[tokens, heads, splits, D] and weights[tokens, heads, splits, 2] (largest, total).
struct SplitResults {
  float *sums, *weights;
  u64 splits, split;  ///< their number; the one of this block

  template <int D>
  DEVICE void put(u64 row, u32 column, float most, float total, MergedColumns of_split) const {
    const u64 part = row * splits + split;
    store_pack(sums + part * D + column, of_split);
    if (column != 0) return;
    weights[2 * part] = most;
    weights[2 * part + 1] = total;
  }
  template <typename T, int D>
  static DEVICE void store(T* y, u64 row, u32 column, float total, MergedColumns sums) {
    store_pack(y + row * D + column,
               from_floats<T, merged_columns>(sums * merged_columns_of(1 / total)));
  }
  /// Merges all splits into `group` rows of y from `first_row` on. Only one block is left and
  /// memory latency dominates, so loads of several splits are in flight together.
  template <typename T, int D>
  DEVICE void merge(T* y, u64 first_row, u32 group) const {
    constexpr u32 at_once = 8;
    for (u32 i = thread_index() * merged_columns; i < group * D;
         i += block_threads() * merged_columns) {
      const u64 row = first_row + i / D;
      const u32 column = i % D;
      float most = nothing_seen, total = 0;
      MergedColumns sum = merged_columns_of(0);
      for (u64 first = 0; first < splits; first += at_once) {
        Pack<float, 2> seen[at_once];
        MergedColumns of_split[at_once];
        UNROLL_LOOP
        for (u32 j = 0; j < at_once; ++j) {
          const u64 part = row * splits + (first + j < splits ? first + j : splits - 1);
          seen[j] = load_pack<2>(weights + 2 * part);
          of_split[j] = load_pack<merged_columns>(sums + part * D + column);
        }
        float together = most;
        UNROLL_LOOP
        for (u32 j = 0; j < at_once; ++j) together = larger(together, seen[j].v[0]);
        const float fade = fast_exp2(most - together);
        most = together;
        total *= fade;
        sum = sum * merged_columns_of(fade);
        UNROLL_LOOP
        for (u32 j = 0; j < at_once; ++j) {
          const float weight = first + j < splits ? fast_exp2(seen[j].v[0] - most) : 0;
          total += weight * seen[j].v[1];
          sum = sum + of_split[j] * merged_columns_of(weight);
        }
      }
      store<T, D>(y, row, column, total, sum);
    }
  }
  /// Writes `group` rows of y from `first_row` on, after all parts of this block are in `all`. If
  /// there are several splits, the last block to finish merges them. `arrived` is these rows'
  /// counter, zero before and after.
  template <typename T, int D, u32 PARTS>
  DEVICE void finish(T* y, u32* arrived, const SeenInParts<D, PARTS>& all, u64 first_row,
                     u32 group) const {
    barrier();
    merge_parts(all, group,
                [&](u32 g, u32 column, float most, float total, MergedColumns of_split) {
                  if (splits == 1) {
                    store<T, D>(y, first_row + g, column, total, of_split);
                  } else {
                    put<D>(first_row + g, column, most, total, of_split);
                  }
                });
    if (splits == 1 || !is_last_block(arrived, static_cast<u32>(splits))) return;
    merge<T, D>(y, first_row, group);
  }
};

}  // namespace
