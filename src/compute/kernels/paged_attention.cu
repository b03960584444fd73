// Attention of tokens to a paged cache of keys and values, and how these get there. The cache has
// blocks of `page_tokens` tokens; tables[sequence, table_width] say which block holds which tokens
// of a sequence. Every token names its sequence and its position in it, so one launch computes
// whole prompts, parts of them, single tokens of many sequences, or all of these together.
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
constexpr u32 keys_ahead = 1;
#else
constexpr u32 paged_threads = 128;
constexpr u32 keys_ahead = 4;  // of each team, on their way at the same time
#endif
constexpr float nothing_seen = -1e30f;  // a maximum of no scores; its differences stay finite

/// Where the cache holds the keys or values of a token in one head: [blocks, kv_heads, page_tokens,
/// width].
DEVICE u64 place_in_cache(const i32* table, u64 position, u64 head, u64 kv_heads, u64 width) {
  const u64 block = static_cast<u64>(table[position / page_tokens]);
  return ((block * kv_heads + head) * page_tokens + position % page_tokens) * width;
}

// ---- Into the cache ----

/// An element of the lower half of a head's vector and its partner in the upper half.
struct Rotated {
  float low, high;
};
DEVICE Rotated rotate(float low, float high, float cosine, float sine) {
  return {low * cosine - high * sine, high * cosine + low * sine};
}

template <typename T>
DEVICE void rotate_and_store(T* qkv, T* keys, T* values, const T* query_norm, const T* key_norm,
                             const float* angles, const i32* positions, const i32* sequences,
                             const i32* tables, u64 table_width, u64 tokens, u64 heads,
                             u64 kv_heads, u64 width, float epsilon) {
  let_next_kernel_begin();  // it waits in turn before it touches what this one writes
  wait_for_previous_kernel();
  const u64 all_heads = heads + 2 * kv_heads, half = width / 2;
  const u32 waves = block_threads() / wave_width;
  const Tiles mine = my_tiles(tokens * all_heads, waves);
  for (u64 tile = mine.begin; tile < mine.end; tile += mine.step) {
    const u64 item = tile + wave_index();
    if (item >= tokens * all_heads) continue;  // a whole wave
    const u64 token = item / all_heads, head = item % all_heads;
    T* const from = qkv + item * width;
    const u64 position = static_cast<u64>(positions[token]);
    const i32* const table = tables + static_cast<u64>(sequences[token]) * table_width;
    if (head >= heads + kv_heads) {
      T* const to =
          values + place_in_cache(table, position, head - heads - kv_heads, kv_heads, width);
      for (u64 i = lane_index(); i < width; i += wave_width) to[i] = from[i];
      continue;
    }
    const bool is_query = head < heads;
    T* const cached =
        is_query ? nullptr : keys + place_in_cache(table, position, head - heads, kv_heads, width);
    const T* const norm = is_query ? query_norm : key_norm;
    float inverse = 1;
    if (norm != nullptr) {
      float squares = 0;
      for (u64 i = lane_index(); i < width; i += wave_width) {
        const float x = decode(from[i]);
        squares += x * x;
      }
      inverse = fast_rsqrt(wave_reduce(squares, Sum{}) / static_cast<float>(width) + epsilon);
    }
    const auto read = [&](u64 i) {
      const float x = decode(from[i]);
      return norm == nullptr ? x : decode(encode<T>(x * inverse)) * decode(norm[i]);
    };
    const float* const cosines = angles + position * width;
    for (u64 i = lane_index(); i < half; i += wave_width) {
      const Rotated r = rotate(read(i), read(i + half), cosines[i], cosines[half + i]);
      from[i] = encode<T>(r.low);
      from[half + i] = encode<T>(r.high);
      if (is_query) continue;
      cached[i] = encode<T>(r.low);
      cached[half + i] = encode<T>(r.high);
    }
  }
}

// ---- Attention ----

#if defined(ON_CPU)
template <int D>
constexpr u32 team_lanes = 1;
#else
/// Lanes that share a key, each with one pack of it.
template <int D>
constexpr u32 team_lanes = D / row_pack;
#endif

/// Grid: tokens x kv_heads, splits of the keys. All query heads of one head of keys are computed
/// together, so that it is read once. After some keys, a team knows the largest score (times scale
/// and log2 e), the sum of exponentials relative to it, and the sum of values weighted by these; a
/// block merges its teams, and leaves these three for merge_splits() if there are splits.
template <typename T, int D>
DEVICE void paged_attention(T* y, float* partial, const T* qkv, const T* keys, const T* values,
                            const i32* positions, const i32* sequences, const i32* tables,
                            u64 table_width, u64 heads, u64 kv_heads, u64 splits, float scale) {
  constexpr u32 lanes = team_lanes<D>, packs = D / row_pack / lanes, teams = paged_threads / lanes;
  SHARED float team_largest[MOST_GROUP][teams], team_total[MOST_GROUP][teams];
  SHARED float team_sums[MOST_GROUP][teams][D] __attribute__((aligned(32)));
  let_next_kernel_begin();
  wait_for_previous_kernel();
  const u32 group = GROUP_OF(heads, kv_heads);
  const u32 team = thread_index() / lanes, lane = thread_index() % lanes;
  const u64 token = block_index() / kv_heads, kv_head = block_index() % kv_heads;
  const u64 split = block_index_y();
  const u64 seen = static_cast<u64>(positions[token]) + 1;
  const u64 share = ((seen + splits - 1) / splits + page_tokens - 1) / page_tokens * page_tokens;
  const u64 begin = split * share, end = begin + share < seen ? begin + share : seen;
  const i32* const table = tables + static_cast<u64>(sequences[token]) * table_width;
  const T* const queries = qkv + (token * (heads + 2 * kv_heads) + kv_head * group) * D;

  Floats q[MOST_GROUP][packs], sums[MOST_GROUP][packs];
  float largest[MOST_GROUP], total[MOST_GROUP];
  UNROLL_LOOP
  for (u32 g = 0; g < MOST_GROUP; ++g) {
    if (g >= group) break;
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) {
      q[g][p] =
          load_floats(queries + g * D + (p * lanes + lane) * row_pack) * floats_of(scale * log2_e);
      sums[g][p] = floats_of(0);
    }
    largest[g] = nothing_seen;
    total[g] = 0;
  }
  using Raw = Pack<T, row_pack>;
  for (u64 base = begin; base < end; base += teams * keys_ahead) {  // alike in all lanes
    Raw k[keys_ahead][packs], v[keys_ahead][packs];
    UNROLL_LOOP
    for (u32 j = 0; j < keys_ahead; ++j) {
      const u64 key = base + j * teams + team;
      const u64 at = place_in_cache(table, key < end ? key : begin, kv_head, kv_heads, D);
      UNROLL_LOOP
      for (u32 p = 0; p < packs; ++p) {
        k[j][p] = load_pack<row_pack>(keys + at + (p * lanes + lane) * row_pack);
        v[j][p] = load_pack<row_pack>(values + at + (p * lanes + lane) * row_pack);
      }
    }
    float scores[keys_ahead][MOST_GROUP];
    UNROLL_LOOP
    for (u32 j = 0; j < keys_ahead; ++j) {
      const bool there = base + j * teams + team < end;
      UNROLL_LOOP
      for (u32 g = 0; g < MOST_GROUP; ++g) {
        if (g >= group) break;
        float score = 0;
        UNROLL_LOOP
        for (u32 p = 0; p < packs; ++p) score += (q[g][p] * to_floats(k[j][p])).sum();
        UNROLL_LOOP
        for (u32 mask = 1; mask < lanes; mask *= 2) score += shuffle_xor(score, mask);
        scores[j][g] = there ? score : 2 * nothing_seen;
      }
    }
    UNROLL_LOOP
    for (u32 g = 0; g < MOST_GROUP; ++g) {
      if (g >= group) break;
      float most = largest[g];
      UNROLL_LOOP
      for (u32 j = 0; j < keys_ahead; ++j) most = larger(most, scores[j][g]);
      const float fade = fast_exp2(largest[g] - most);
      largest[g] = most;
      total[g] *= fade;
      UNROLL_LOOP
      for (u32 p = 0; p < packs; ++p) sums[g][p] = sums[g][p] * floats_of(fade);
      UNROLL_LOOP
      for (u32 j = 0; j < keys_ahead; ++j) {
        const float weight = fast_exp2(scores[j][g] - most);
        total[g] += weight;
        UNROLL_LOOP
        for (u32 p = 0; p < packs; ++p) {
          sums[g][p] = sums[g][p] + to_floats(v[j][p]) * floats_of(weight);
        }
      }
    }
  }
  UNROLL_LOOP
  for (u32 g = 0; g < MOST_GROUP; ++g) {
    if (g >= group) break;
    UNROLL_LOOP
    for (u32 p = 0; p < packs; ++p) {
      store_pack(&team_sums[g][team][(p * lanes + lane) * row_pack], sums[g][p]);
    }
    if (lane == 0) {
      team_largest[g][team] = largest[g];
      team_total[g][team] = total[g];
    }
  }
  barrier();
  for (u32 i = thread_index(); i < group * D; i += block_threads()) {
    const u32 g = i / D, column = i % D;
    float most = nothing_seen, weights = 0, sum = 0;
    for (u32 t = 0; t < teams; ++t) most = larger(most, team_largest[g][t]);
    for (u32 t = 0; t < teams; ++t) {
      const float weight = fast_exp2(team_largest[g][t] - most);
      weights += weight * team_total[g][t];
      sum += weight * team_sums[g][t][column];
    }
    const u64 row = token * heads + kv_head * group + g;
    if (splits == 1) {
      y[row * D + column] = encode<T>(sum / weights);
      continue;
    }
    float* const mine = partial + (row * splits + split) * (D + 2);
    if (column == 0) {
      mine[0] = most;
      mine[1] = weights;
    }
    mine[2 + column] = sum;
  }
}

template <typename T>
DEVICE void merge_splits(T* y, const float* partial, u64 rows, u64 splits, u64 width) {
  let_next_kernel_begin();
  wait_for_previous_kernel();
  const Tiles mine = my_tiles(rows * width, block_threads());
  for (u64 tile = mine.begin; tile < mine.end; tile += mine.step) {
    const u64 i = tile + thread_index();
    if (i >= rows * width) continue;
    const float* const all = partial + i / width * splits * (width + 2);
    float most = nothing_seen, weights = 0, sum = 0;
    for (u64 s = 0; s < splits; ++s) most = larger(most, all[s * (width + 2)]);
    for (u64 s = 0; s < splits; ++s) {
      const float* const one = all + s * (width + 2);
      const float weight = fast_exp2(one[0] - most);
      weights += weight * one[1];
      sum += weight * one[2 + i % width];
    }
    y[i] = encode<T>(sum / weights);
  }
}

}  // namespace

/// qkv[tokens, heads + 2 kv_heads, width]: queries and keys are normed (unless `query_norm` is
/// null) and rotated in place, then keys and values are copied into the cache. angles[positions,
/// width]: cosines, then sines, of half the width each; element i is paired with i + width / 2.
#define CACHE_KERNELS(T, suffix)                                                               \
  KERNEL(rotate_and_store_##suffix, T* qkv, T* keys, T* values, const T* query_norm,           \
         const T* key_norm, const float* angles, const i32* positions, const i32* sequences,   \
         const i32* tables, u64 table_width, u64 tokens, u64 heads, u64 kv_heads, u64 width,   \
         float epsilon) {                                                                      \
    rotate_and_store(qkv, keys, values, query_norm, key_norm, angles, positions, sequences,    \
                     tables, table_width, tokens, heads, kv_heads, width, epsilon);            \
  }                                                                                            \
  /* y[rows, width] = what paged_attention left in partial[rows, splits, 2 + width]. */        \
  KERNEL(merge_splits_##suffix, T* y, const float* partial, u64 rows, u64 splits, u64 width) { \
    merge_splits(y, partial, rows, splits, width);                                             \
  }
CACHE_KERNELS(float, f32)
CACHE_KERNELS(Bf16, bf16)

/// y[tokens, heads, D] = softmax(scale q k) v over the tokens of the same sequence up to its own.
#define PAGED_KERNEL(T, suffix, D)                                                                \
  KERNEL_OF(paged_threads, 4, paged_attention_##D##_##suffix, T* y, float* partial, const T* qkv, \
            const T* keys, const T* values, const i32* positions, const i32* sequences,           \
            const i32* tables, u64 table_width, u64 heads, u64 kv_heads, u64 splits,              \
            float scale) {                                                                        \
    paged_attention<T, D>(y, partial, qkv, keys, values, positions, sequences, tables,            \
                          table_width, heads, kv_heads, splits, scale);                           \
  }
#define PAGED_KERNELS(D)      \
  PAGED_KERNEL(float, f32, D) \
  PAGED_KERNEL(Bf16, bf16, D)
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
