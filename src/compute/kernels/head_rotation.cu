// RMS norms of the heads of queries and keys, their rotation by their position in the sequence, and
// the gradients of both, for training: every token of a packed array [tokens, heads + 2 kv_heads,
// width]. paged_attention.cu does the same to tokens that go into a cache.
#include "head_rotation.h"

namespace {

#if defined(ON_CPU)
constexpr u32 rotation_waves = 1;
#else
constexpr u32 rotation_waves = 256 / wave_width;  // the host launches 256 threads
#endif
constexpr u32 widest_head = 256;

/// The position of a token in its document, or in its sequence if there are no documents.
DEVICE u64 position_of(u64 token, u64 sequence, const i32* starts) {
  return token % sequence - (starts != nullptr ? static_cast<u64>(starts[token]) : 0);
}

template <typename T>
DEVICE void rotate_heads(T* y, const T* x, const T* query_norm, const T* key_norm,
                         const float* angles, const i32* starts, u64 tokens, u64 sequence,
                         u64 heads, u64 kv_heads, u64 width, float epsilon) {
  const u64 all_heads = heads + 2 * kv_heads, half = width / 2;
  const Tiles mine = my_tiles(tokens * all_heads, rotation_waves);
  for (u64 tile = mine.begin; tile < mine.end; tile += mine.step) {
    const u64 item = tile + wave_index();
    if (item >= tokens * all_heads) continue;  // true for whole waves only
    const u64 head = item % all_heads;
    const T* const from = x + item * width;
    T* const to = y + item * width;
    if (head >= heads + kv_heads) {  // values
      for (u64 i = lane_index(); i < width; i += wave_width) to[i] = from[i];
      continue;
    }
    const u64 position = position_of(item / all_heads, sequence, starts);
    norm_and_rotate_head(from, head < heads ? query_norm : key_norm, angles + position * width,
                         width, epsilon, [&](u64 i, Rotated r) {
                           to[i] = encode<T>(r.low);
                           to[half + i] = encode<T>(r.high);
                         });
  }
}

/// Each block has a stripe of the tokens, and each of its waves takes heads of them in turn. A lane
/// always has the same elements, so that it alone adds to the sums of its wave.
template <typename T>
DEVICE void rotate_heads_backward(T* d, float* partial, const T* x, const T* query_norm,
                                  const T* key_norm, const float* angles, const i32* starts,
                                  u64 tokens, u64 sequence, u64 heads, u64 kv_heads, u64 width,
                                  float epsilon) {
  SHARED float sums[rotation_waves][2][widest_head];  // gradients of both norms
  const u64 all_heads = heads + 2 * kv_heads, rotated = heads + kv_heads, half = width / 2;
  const u32 wave = wave_index();
  for (u64 i = lane_index(); i < widest_head; i += wave_width) {
    sums[wave][0][i] = sums[wave][1][i] = 0;
  }
  barrier();
  const Stripe stripe = rows_of(tokens, block_index(), grid_blocks());
  for (u64 i = wave; i < (stripe.end - stripe.begin) * rotated; i += rotation_waves) {
    const u64 token = stripe.begin + i / rotated, head = i % rotated;
    const u64 at = (token * all_heads + head) * width;
    const float* const cosines = angles + position_of(token, sequence, starts) * width;
    const u32 which = head < heads ? 0 : 1;
    const T* const norm = which == 0 ? query_norm : key_norm;
    const auto rotated_back = [&](u64 e) {
      return rotate(decode(d[at + e]), decode(d[at + half + e]), cosines[e], -cosines[half + e]);
    };
    if (norm == nullptr) {
      for (u64 e = lane_index(); e < half; e += wave_width) {
        const Rotated g = rotated_back(e);
        d[at + e] = encode<T>(g.low);
        d[at + half + e] = encode<T>(g.high);
      }
      continue;
    }
    const float inverse = inverse_root_mean_square(x + at, width, epsilon);
    const auto unit = [&](u64 e) { return decode(x[at + e]) * inverse; };
    float total = 0;  // of the gradient of the normed vector times that vector
    for (u64 e = lane_index(); e < half; e += wave_width) {
      const Rotated g = rotated_back(e);
      sums[wave][which][e] += g.low * unit(e);
      sums[wave][which][half + e] += g.high * unit(half + e);
      total += g.low * decode(norm[e]) * unit(e) + g.high * decode(norm[half + e]) * unit(half + e);
    }
    const float mean = wave_reduce(total, Sum{}) / static_cast<float>(width);
    for (u64 e = lane_index(); e < half; e += wave_width) {
      const Rotated g = rotated_back(e);
      d[at + e] = encode<T>(inverse * (g.low * decode(norm[e]) - unit(e) * mean));
      d[at + half + e] =
          encode<T>(inverse * (g.high * decode(norm[half + e]) - unit(half + e) * mean));
    }
  }
  if (partial == nullptr) return;
  barrier();
  for (u64 i = thread_index(); i < 2 * width; i += block_threads()) {
    float total = 0;
    for (u32 w = 0; w < rotation_waves; ++w) total += sums[w][i / width][i % width];
    partial[u64{block_index()} * 2 * width + i] = total;
  }
}

}  // namespace

/// rotate_heads: y = x with the heads of queries and keys normed by query_norm[width] and
/// key_norm[width], unless they are null, and rotated; values are copied. angles[sequence, width]:
/// cosines, then sines, of half the width each. starts[tokens], unless null: the place in its sequence
/// where a token's document, and so its positions, begin.
/// rotate_heads_backward: d, the gradient of y, becomes that of x. Unless null, partial[blocks, 2,
/// width] receives the gradients of both norms, summed over a stripe of tokens. Heads are at most 256
/// wide.
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
