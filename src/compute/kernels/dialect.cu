// What kernels of assay do not do themselves of the dialect, each piece once, for the tests of
// every build and of real devices.
#include "async_copy.h"
#include "conversions.h"
#include "random.h"
#include "wave.h"

namespace {

/// Calls body(first) for the packs of N among n elements, n a multiple of N.
template <int N, typename Body>
DEVICE void for_each_pack(u64 n, Body body) {
  const Tiles tiles = my_tiles(n / N, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i < n / N) body(i * N);
  }
}

template <typename T>
DEVICE void encode_all(T* single, T* packed, const float* x, u64 n) {
  constexpr int N = pack_elements<T>;
  for_each_pack<N>(n, [=](u64 i) {
    store_streaming(reinterpret_cast<Pack<T, N>*>(packed + i), encode<T>(load_pack<N>(x + i)));
    for (int e = 0; e < N; ++e) single[i + e] = encode<T>(x[i + e]);
  });
  streaming_fence();
}

template <typename T>
DEVICE void decode_all(float* single, float* packed, const T* codes, u64 n) {
  constexpr int N = pack_elements<T>;
  for_each_pack<N>(n, [=](u64 i) {
    const auto* from = reinterpret_cast<const Pack<T, N>*>(codes + i);
    store_pack(packed + i, decode(i / N % 2 == 0 ? *from : load_streaming(from)));
    for (int e = 0; e < N; ++e) single[i + e] = decode(codes[i + e]);
  });
}

template <typename T>
DEVICE void check_encoding(u64* found, u64 first, u64 n) {
  constexpr int N = pack_elements<T>;
  u64 wrong = 0, least = n;
  for_each_pack<N>(n, [&](u64 i) {
    Pack<float, N> x;
    for (int e = 0; e < N; ++e) x.v[e] = float_of(static_cast<u32>(first + i + e));
    const Pack<T, N> codes = encode<T>(x);
    for (int e = 0; e < N; ++e) {
      const T right = T::encode(x.v[e]);
      if (codes.get(e).bits == right.bits && encode<T>(x.v[e]).bits == right.bits) continue;
      if (i + e < least) least = i + e;
      ++wrong;
    }
  });
  store_findings(found, wrong, least);
}

}  // namespace

/// encode_*: x[0 ... n) element by element, and in packs. decode_*: likewise. check_encoding_*:
/// found as by store_findings() of the floats whose bits are first ... first + n, whose codes are
/// not those that bit operations give. n is a multiple of 64.
#define CONVERSION_KERNELS(T, suffix)                                            \
  KERNEL(encode_##suffix, T* single, T* packed, const float* x, u64 n) {         \
    encode_all(single, packed, x, n);                                            \
  }                                                                              \
  KERNEL(decode_##suffix, float* single, float* packed, const T* codes, u64 n) { \
    decode_all(single, packed, codes, n);                                        \
  }                                                                              \
  KERNEL(check_encoding_##suffix, u64* found, u64 first, u64 n) {                \
    check_encoding<T>(found, first, n);                                          \
  }
CONVERSION_KERNELS(F16, f16)
CONVERSION_KERNELS(Bf16, bf16)
CONVERSION_KERNELS(E4m3, e4m3)
CONVERSION_KERNELS(E5m2, e5m2)
CONVERSION_KERNELS(E4m3Fnuz, e4m3_fnuz)
CONVERSION_KERNELS(E5m2Fnuz, e5m2_fnuz)

KERNEL(round_all, Bf16* rounded, const float* x, u64 n, u64 key) {
  constexpr int N = pack_elements<Bf16>;
  for_each_pack<N>(n, [=](u64 i) {
    store_pack(rounded + i, round_stochastically(load_pack<N>(x + i), i, key));
  });
}

/// Each block copies `chunks` chunks by way of shared memory, their order reversed; blocks take
/// their parts in the order of the grid, whose second and third extents are 2.
KERNEL(reverse_parts, Chunk* to, const Chunk* from, u32 chunks) {
  const u64 block = (block_index_z() * 2 + block_index_y()) * u64{grid_blocks()} + block_index();
  Chunk* const shared = static_cast<Chunk*>(dynamic_shared());
  for (u32 i = thread_index(); i < chunks; i += block_threads()) {
    begin_copy(shared + i, from + block * chunks + i);
  }
  close_copies();
  await_copies<0>();
  barrier();
  for (u32 i = thread_index(); i < chunks; i += block_threads()) {
    to[block * chunks + i] = shared[chunks - 1 - i];
  }
}
