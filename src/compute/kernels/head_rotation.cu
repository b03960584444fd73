// RMS norms of the heads of queries and keys, their rotation by their position in the sequence, and
// the gradients of both, for training: every token of a packed array [tokens, heads + 2 kv_heads,
// width]. paged_attention.cu does the same to tokens that go into a cache.
#include "head_rotation.h"

namespace {

#if defined(ON_CPU)
constexpr u32 rotation_threads = 1;
#else
constexpr u32 rotation_threads = 256;  // as many as the host launches
#endif
// Elements of each half of a head that a lane holds together; halves are multiples of it.
constexpr int half_pack = 4;
using HalfPack = Pack<float, half_pack>;
constexpr u32 widest_head = 256;
// The packs of each half that a lane holds: 32 lanes can share a head, but a CPU has one.
constexpr u32 most_packs = wave_width == 1 ? widest_head / 2 / half_pack : 1;

/// Neighbouring lanes that share a head, and the place of this team among those of the block.
struct HeadTeam {
  u32 lanes, lane, index, count;
};
DEVICE HeadTeam head_team(u32 half) {
  u32 lanes = 1;
  while (lanes < wave_width && lanes * half_pack < half) lanes *= 2;
  return {lanes, thread_index() % lanes, thread_index() / lanes, rotation_threads / lanes};
}

/// Calls body(p, e) for each pack of a half that this lane holds; p counts them, and e is the
/// pack's first element.
template <typename Body>
DEVICE void for_my_parts(const HeadTeam& team, u32 half, Body body) {
  UNROLL_LOOP
  for (u32 p = 0; p < most_packs; ++p) {
    const u32 e = (p * team.lanes + team.lane) * half_pack;
    if (e < half) body(p, e);
  }
}

template <typename T>
DEVICE HalfPack load_half(const T* from) {
  return to_floats(load_pack<half_pack>(from));
}
template <typename T>
DEVICE void store_half(T* to, HalfPack x) {
  store_pack(to, from_floats<T, half_pack>(x));
}
DEVICE HalfPack half_of(float value) {
  return broadcast<float, half_pack>(value);
}

/// A lane's part of a head: packs of its lower and its upper half.
struct HeadPart {
  HalfPack low[most_packs], high[most_packs];
};
template <typename T>
DEVICE HeadPart load_part(const HeadTeam& team, const T* head, u32 half) {
  HeadPart x;
  for_my_parts(team, half, [&](u32 p, u32 e) {
    x.low[p] = load_half(head + e);
    x.high[p] = load_half(head + half + e);
  });
  return x;
}

/// Returns 1 / the root mean square of the head that a team holds.
DEVICE float inverse_mean_of(const HeadTeam& team, const HeadPart& x, u32 half, float epsilon) {
  float squares = 0;
  for_my_parts(team, half,
               [&](u32 p, u32) { squares += (x.low[p] * x.low[p] + x.high[p] * x.high[p]).sum(); });
  const float all = team_reduce(squares, Sum{}, team.lanes);
  return fast_rsqrt(all / static_cast<float>(2 * half) + epsilon);
}

/// Turns packs of both halves by their angles; `turn` is 1, or -1 to turn them back.
DEVICE void rotate_packs(HalfPack& low, HalfPack& high, const float* cosines, u32 half, u32 e,
                         float turn) {
  const HalfPack cosine = load_half(cosines + e), sine = load_half(cosines + half + e);
  UNROLL_LOOP
  for (int i = 0; i < half_pack; ++i) {
    const Rotated r = rotate(low.v[i], high.v[i], cosine.v[i], turn * sine.v[i]);
    low.v[i] = r.low;
    high.v[i] = r.high;
  }
}

/// The position of a token in its document, or in its sequence if there are no documents.
DEVICE u64 position_of(u64 token, u64 sequence, const i32* starts) {
  return token % sequence - (starts != nullptr ? static_cast<u64>(starts[token]) : 0);
}

template <typename T>
DEVICE void rotate_heads(T* y, const T* x, const T* query_norm, const T* key_norm,
                         const float* angles, const i32* starts, u64 tokens, u64 sequence,
                         u64 heads, u64 kv_heads, u64 width, float epsilon) {
  const u64 all_heads = heads + 2 * kv_heads;
  const u32 half = static_cast<u32>(width / 2);
  const HeadTeam team = head_team(half);
  const Tiles mine = my_tiles(tokens, 1);
  for (u64 token = mine.begin; token < mine.end; token += mine.step) {
    const float* const cosines = angles + position_of(token, sequence, starts) * width;
    for (u64 first = 0; first < all_heads; first += team.count) {  // the same for the whole block
      const bool there = first + team.index < all_heads;
      const u64 head = there ? first + team.index : first;
      const u64 at = (token * all_heads + head) * width;
      HeadPart part = load_part(team, x + at, half);
      const T* const norm = head < heads ? query_norm : key_norm;
      if (query_norm != nullptr) {
        const float inverse = inverse_mean_of(team, part, half, epsilon);
        if (head < heads + kv_heads) {
          for_my_parts(team, half, [&](u32 p, u32 e) {
            const auto normed = [&](HalfPack of, u32 from) {
              const HalfPack unit = to_floats(from_floats<T, half_pack>(of * half_of(inverse)));
              return unit * load_half(norm + from);
            };
            part.low[p] = normed(part.low[p], e);
            part.high[p] = normed(part.high[p], half + e);
          });
        }
      }
      if (!there) continue;
      for_my_parts(team, half, [&](u32 p, u32 e) {
        if (head < heads + kv_heads) {  // values stay as they are
          rotate_packs(part.low[p], part.high[p], cosines, half, e, 1);
        }
        store_half(y + at + e, part.low[p]);
        store_half(y + at + half + e, part.high[p]);
      });
    }
  }
}

/// Each block has a stripe of the tokens, and its teams take heads of them in turn. A lane always
/// has the same elements, so it adds up the gradients of the norms at these elements by itself.
template <typename T>
DEVICE void rotate_heads_backward(T* d, float* partial, const T* x, const T* query_norm,
                                  const T* key_norm, const float* angles, const i32* starts,
                                  u64 tokens, u64 sequence, u64 heads, u64 kv_heads, u64 width,
                                  float epsilon) {
  const u64 all_heads = heads + 2 * kv_heads, rotated = heads + kv_heads;
  const u32 half = static_cast<u32>(width / 2);
  const HeadTeam team = head_team(half);
  HeadPart sums[2];  // gradients of the norms of queries and of keys
  for (HeadPart& sum : sums) {
    UNROLL_LOOP
    for (u32 p = 0; p < most_packs; ++p) sum.low[p] = sum.high[p] = half_of(0);
  }
  const Stripe stripe = rows_of(tokens, block_index(), grid_blocks());
  for (u64 token = stripe.begin; token < stripe.end; ++token) {
    const float* const cosines = angles + position_of(token, sequence, starts) * width;
    for (u64 first = 0; first < rotated; first += team.count) {  // the same for the whole block
      const bool there = first + team.index < rotated;
      const u64 head = there ? first + team.index : first;
      const u64 at = (token * all_heads + head) * width;
      HeadPart g = load_part(team, d + at, half);
      for_my_parts(team, half,
                   [&](u32 p, u32 e) { rotate_packs(g.low[p], g.high[p], cosines, half, e, -1); });
      if (query_norm != nullptr) {
        HeadPart unit = load_part(team, x + at, half);
        const float inverse = inverse_mean_of(team, unit, half, epsilon);
        const bool of_query = head < heads;
        const T* const norm = of_query ? query_norm : key_norm;
        float total = 0;  // of the gradient of the normed vector times that vector
        const auto take = [&](HalfPack& of_normed, HalfPack& normed, HalfPack& of_queries,
                              HalfPack& of_keys, u32 e) {
          normed = normed * half_of(inverse);
          const HalfPack to_norm = of_normed * normed;
          of_queries = of_queries + to_norm * half_of(there && of_query ? 1.0f : 0.0f);
          of_keys = of_keys + to_norm * half_of(there && !of_query ? 1.0f : 0.0f);
          of_normed = of_normed * load_half(norm + e);
          total += (of_normed * normed).sum();
        };
        for_my_parts(team, half, [&](u32 p, u32 e) {
          take(g.low[p], unit.low[p], sums[0].low[p], sums[1].low[p], e);
          take(g.high[p], unit.high[p], sums[0].high[p], sums[1].high[p], half + e);
        });
        const float mean = team_reduce(total, Sum{}, team.lanes) / static_cast<float>(2 * half);
        for_my_parts(team, half, [&](u32 p, u32) {
          g.low[p] = (g.low[p] + unit.low[p] * half_of(-mean)) * half_of(inverse);
          g.high[p] = (g.high[p] + unit.high[p] * half_of(-mean)) * half_of(inverse);
        });
      }
      if (!there) continue;
      for_my_parts(team, half, [&](u32 p, u32 e) {
        store_half(d + at + e, g.low[p]);
        store_half(d + at + half + e, g.high[p]);
      });
    }
  }
  if (partial == nullptr) return;
  // [teams, 2, width]: a team has no more than 4 packs of 8 elements for each of its lanes
  SHARED float of_teams[rotation_threads == 1 ? 2 * widest_head : rotation_threads * 4 * half_pack]
      __attribute__((aligned(16)));
  UNROLL_LOOP
  for (u32 which = 0; which < 2; ++which) {
    float* const to = of_teams + (team.index * 2 + which) * 2 * half;
    for_my_parts(team, half, [&](u32 p, u32 e) {
      store_half(to + e, sums[which].low[p]);
      store_half(to + half + e, sums[which].high[p]);
    });
  }
  barrier();
  for (u32 i = thread_index(); i < 4 * half; i += rotation_threads) {
    float total = 0;
    for (u32 t = 0; t < team.count; ++t) total += of_teams[t * 4 * half + i];
    partial[u64{block_index()} * 4 * half + i] = total;
  }
}

}  // namespace

/// rotate_heads: y = x with the heads of queries and keys normed by query_norm[width] and
/// key_norm[width], unless they are null, and rotated; values are copied. angles[sequence, width]:
/// cosines, then sines, of half the width each. starts[tokens], unless null: the place in its
/// sequence where a token's document, and so its positions, begin. rotate_heads_backward: d, the
/// gradient of y, becomes that of x. Unless null, partial[blocks, 2, width] receives the gradients
/// of both norms, summed over a stripe of tokens. Heads are at most 256 wide.
#define HEAD_ROTATION_KERNELS(T, suffix)                                                         \
  KERNEL(rotate_heads_##suffix, T* y, const T* x, const T* query_norm, const T* key_norm,        \
         const float* angles, const i32* starts, u64 tokens, u64 sequence, u64 heads,            \
         u64 kv_heads, u64 width, float epsilon) {                                               \
    rotate_heads(y, x, query_norm, key_norm, angles, starts, tokens, sequence, heads, kv_heads,  \
                 width, epsilon);                                                                \
  }                                                                                              \
  KERNEL(rotate_heads_backward_##suffix, T* d, float* partial, const T* x, const T* query_norm,  \
         const T* key_norm, const float* angles, const i32* starts, u64 tokens, u64 sequence,    \
         u64 heads, u64 kv_heads, u64 width, float epsilon) {                                    \
    rotate_heads_backward(d, partial, x, query_norm, key_norm, angles, starts, tokens, sequence, \
                          heads, kv_heads, width, epsilon);                                      \
  }
HEAD_ROTATION_KERNELS(float, f32)
HEAD_ROTATION_KERNELS(Bf16, bf16)
HEAD_ROTATION_KERNELS(F16, f16)
