// What the kernels of attention to a paged cache share: where it holds keys and values, how these
// and queries are normed and rotated, and how results of some of the keys become those of all.
#pragma once

#include "fast_math.h"
#include "rows.h"

// The host gives these for one model; on a CPU all widths are compiled, and the group is counted.
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

namespace {

constexpr u32 page_tokens = 16;
#if defined(ON_CPU)
constexpr u32 paged_threads = 1;
#else
constexpr u32 paged_threads = 128;
#endif
constexpr float nothing_seen = -1e30f;  // a maximum of no scores; its differences stay finite

/// Where the cache holds the keys or values of a token in one head: [blocks, kv_heads, page_tokens,
/// width].
DEVICE u64 place_in_cache(const i32* table, u64 position, u64 head, u64 kv_heads, u64 width) {
  const u64 block = static_cast<u64>(table[position / page_tokens]);
  return ((block * kv_heads + head) * page_tokens + position % page_tokens) * width;
}

/// What a block attends to: the keys from `begin` to `end` of those that a token sees, in one head
/// of keys. Grid: tokens x kv_heads, splits of the keys. Known before the kernel in front has
/// ended: positions and tables are those of the whole pass.
struct KeysOfBlock {
  u64 token, kv_head, kv_heads, split, position, begin, end;
  const i32* table;  ///< blocks of the cache, of the token's sequence

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
  /// Whether the token's own key is one of them.
  DEVICE bool have_own() const { return begin <= position && end == position + 1; }
  /// Where the cache holds a key; of one that is none of these, where it holds the first.
  template <int D>
  DEVICE u64 place(u64 key) const {
    return place_in_cache(table, key < end ? key : begin, kv_head, kv_heads, D);
  }
  /// Begins to bring the first of these keys and their values into the device's cache. All threads.
  template <typename T, int D>
  DEVICE void fetch_early(const T* keys, const T* values) const {
    constexpr u64 line = 128 / sizeof(T), lines = (D + line - 1) / line, most = 64;
    if (begin >= end) return;
    const u64 count = end - begin < most ? end - begin : most;
    for (u64 i = thread_index(); i < count * lines; i += block_threads()) {
      const u64 at = place<D>(begin + i / lines) + i % lines * line;
      prefetch_line(keys + at);
      prefetch_line(values + at);
    }
  }
};

// ---- Norms and rotation ----

/// An element of the lower half of a head's vector and its partner in the upper half.
struct Rotated {
  float low, high;
};
DEVICE Rotated rotate(float low, float high, float cosine, float sine) {
  return {low * cosine - high * sine, high * cosine + low * sine};
}

#if defined(ON_CPU)
template <int D>
constexpr u32 team_lanes = 1;
#else
/// Lanes that share a key, each with one pack of it.
template <int D>
constexpr u32 team_lanes = D / row_pack;
#endif
template <int D>
constexpr u32 lane_packs = D / row_pack / team_lanes<D>;
template <int D>
constexpr u32 teams_of = paged_threads / team_lanes<D>;

/// x[packs]: a lane's part of a head's vector, normed and rotated. rotate_and_store() says how:
/// this does the same within a team. `cosines`: those of its position, then sines.
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
  Floats partner[packs];  // the same elements of the other half
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

// ---- Results of some keys ----

/// What PARTS parts of a block have seen of keys, in shared memory: of each query head the largest
/// score (times scale and log2 e), the sum of exponentials relative to it, and the sum of values
/// weighted by these.
template <int D, u32 PARTS>
struct SeenInParts {
  float sums[MOST_GROUP][PARTS][D];
  float largest[MOST_GROUP][PARTS], total[MOST_GROUP][PARTS];
};

/// What a thread merges at a time: with four query heads 128 wide, all threads of a block have
/// some.
constexpr u32 merged_columns = 4;
using MergedColumns = Pack<float, merged_columns>;
DEVICE MergedColumns merged_columns_of(float value) {
  return broadcast<float, merged_columns>(value);
}

/// result(g, first column, largest, total, sums) of all parts, for all columns of each query head.
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

/// Where the blocks that see parts of a token's keys leave what they have seen:
/// sums[tokens, heads, splits, D] and weights[tokens, heads, splits, 2], largest and total.
struct SplitResults {
  float *sums, *weights;
  u64 splits, split;

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
  /// y of `group` rows from `first_row` on, of all splits. Only one block is left now, and what it
  /// reads is far away: loads of several splits are on their way together.
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
  /// y of `group` rows from `first_row` on, after all parts of this block are in `all`: of the only
  /// split, or of all by the block that is the last of them. `arrived`: of these rows, zero before
  /// and after.
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
