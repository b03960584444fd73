// Kernels that use every part of the kernel dialect once, for dialect_test.cpp; each runs as one
// wave or one block.
#include "fast_math.h"
#include "random.h"
#include "tile.h"

KERNEL(shuffles, u32* word, double* wide, u64* votes) {
  const u32 lane = lane_index();
  word[lane] = shuffle(3 * lane, (lane + 5) % wave_width);
  wide[lane] = shuffle_xor(0.5 * lane, 33);
  votes[lane] = ballot(lane % 3 == 0);
  if (lane == 0) votes[wave_width] = (any_lane(false) ? 1 : 0) | (any_lane(true) ? 2 : 0);
}

KERNEL(reductions, u32* sums, float* least, u64* most) {
  SHARED u32 for_sums[most_waves];
  SHARED float for_least[most_waves];
  SHARED u64 for_most[most_waves];
  const u32 thread = thread_index();
  sums[thread] = block_reduce(thread, Sum{}, for_sums);
  least[thread] = block_reduce(static_cast<float>((thread * 37) % 256) - 9, Minimum{}, for_least);
  most[thread] = block_reduce(static_cast<u64>((thread * 37) % 256) << 33, Maximum{}, for_most);
}

KERNEL(atomics, u32* words, u64* wide, float* single, double* twice) {
  const u32 thread = block_index() * block_threads() + thread_index();
  atomic_add(words, thread);
  atomic_add(wide, static_cast<u64>(thread) << 32);
  atomic_add(single, 1.0f);
  atomic_add(twice, 0.25);
  atomic_max(words + 1, (thread * 37) % 512);
  if (atomic_compare_exchange(words + 2, 0u, thread + 1) == 0) words[3] = thread + 1;
  if (atomic_exchange(words + 4, 7u) != 7) atomic_add(words + 5, 1u);
}

KERNEL(functions, float* out, const float* x) {
  const u32 i = thread_index();
  const float results[] = {fast_exp2(x[i]),  fast_log2(x[i]),      fast_rsqrt(x[i]),
                           fast_exp(x[i]),   fast_reciprocal(x[i]), fast_tanh(x[i])};
  for (int f = 0; f < 6; ++f) out[f * block_threads() + i] = results[f];
}

KERNEL(randoms, u32* bits, u16* rounded, const float* x, u64 key) {
  const u32 i = thread_index();
  bits[i] = random_bits((u64{1} << 33) + i, key);
  rounded[i] = round_stochastically(x[i], bits[i]).bits;
}

/// Computes d = a b minus each row's maximum, and stores the maxima separately. a is N x 16, b is
/// 16 x N, both stored by rows; one wave.
template <int N>
DEVICE void product(float* d, float* maxima, const Bf16* a, const Bf16* b) {
  SHARED Bf16 left[N * tile_depth], right[N * tile_depth];
  const SharedTile<Bf16, N, tile_depth> left_tile{left};
  const SharedTile<Bf16, tile_depth, N> right_tile{right};
  for (u32 i = thread_index(); i < N * tile_depth; i += block_threads()) {
    left_tile.at(i / tile_depth, i % tile_depth) = a[i];
    right_tile.at(i / N, i % N) = b[i];
  }
  barrier();
  WaveTile<Bf16, N, N> sums;
  typename WaveTile<Bf16, N, N>::Left x;
  typename WaveTile<Bf16, N, N>::Right y;
  sums.fill(0);
  x.template load<Order::depth_last>(left_tile, 0, 0);
  y.template load<Order::depth_first>(right_tile, 0, 0);
  sums.multiply_add(x, y);
  const auto rows = sums.reduce_rows(Maximum{});
  sums.for_each([&](int row, int column, float sum) { d[row * N + column] = sum; });
  sums.for_each_in_rows([&](int slot, float& sum) { sum = rows.slot[slot]; });
  sums.for_each([&](int row, int column, float sum) { maxima[row * N + column] = sum; });
}
KERNEL(product_16, float* d, float* maxima, const Bf16* a, const Bf16* b) {
  product<16>(d, maxima, a, b);
}
KERNEL(product_32, float* d, float* maxima, const Bf16* a, const Bf16* b) {
  product<32>(d, maxima, a, b);
}
