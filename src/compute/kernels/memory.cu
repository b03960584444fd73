// Memory bandwidth: the operations of BabelStream plus pure reads and writes, for f32 and f64.
// Inputs are small integers in closed form, so every result is exact and every element is checked.
#include "wave.h"

namespace {

/// Returns element `i` of array `which` (0, 1, 2): an integer in [0, 1023] that differs between
/// adjacent elements.
DEVICE u32 input_value(u64 i, u32 which) {
  u64 x = (i + 1) * 0x9E3779B97F4A7C15ull + which * 0xD1B54A32D192ED03ull;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  return static_cast<u32>(x >> 54);
}

constexpr int scalar = 3;

enum Operation { COPY, MUL, ADD, TRIAD, DOT, READ, WRITE };

/// Returns the expected element `i` of the output.
DEVICE u32 expected_value(u64 i, int operation) {
  const u32 a = input_value(i, 0), b = input_value(i, 1);
  switch (operation) {
    case COPY:
      return a;
    case MUL:
      return scalar * a;
    case ADD:
      return a + b;
    case TRIAD:
      return a + scalar * b;
    default:
      return scalar;
  }
}

template <typename T>
using NativePack = Pack<T, (PACK_BYTES > sizeof(T) ? PACK_BYTES / sizeof(T) : 1)>;

template <bool Streaming, typename P>
DEVICE P load(const P* from) {
  return Streaming ? load_streaming(from) : *from;
}

/// out[i] = compute(a[i], b[i]) over whole packs, UNROLL loads in flight; then the tail.
template <int Inputs, bool StreamingLoads, bool StreamingStores, typename T, typename Compute>
DEVICE void transform(T* out, const T* a, const T* b, u64 n, Compute compute) {
  using P = NativePack<T>;
  constexpr u64 width = sizeof(P) / sizeof(T);
  const u64 packs = n / width, threads = block_threads(), per_tile = threads * UNROLL;
  const Tiles tiles = my_tiles(packs, per_tile);
  const P* pa = reinterpret_cast<const P*>(a);
  const P* pb = reinterpret_cast<const P*>(b);
  P* po = reinterpret_cast<P*>(out);
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 first = tile + thread_index();
    P x[UNROLL] = {}, y[UNROLL] = {};
    if (tile + per_tile <= packs) {
      UNROLL_LOOP
      for (int u = 0; u < UNROLL; ++u) {
        if (Inputs > 0) x[u] = load<StreamingLoads>(pa + first + u * threads);
        if (Inputs > 1) y[u] = load<StreamingLoads>(pb + first + u * threads);
      }
      UNROLL_LOOP
      for (int u = 0; u < UNROLL; ++u) {
        const P result = compute(x[u], y[u]);
        if (StreamingStores) {
          store_streaming(po + first + u * threads, result);
        } else {
          po[first + u * threads] = result;
        }
      }
    } else {
      for (u64 i = first; i < packs; i += threads)
        po[i] = compute(pa[i], Inputs > 1 ? pb[i] : pa[i]);
    }
  }
  if (StreamingStores) streaming_fence();
  if (block_index() == 0) {
    for (u64 i = packs * width + thread_index(); i < n; i += threads) {
      using One = Pack<T, 1>;
      const One result = compute(One{a[i]}, One{Inputs > 1 ? b[i] : a[i]});
      out[i] = result.sum();
    }
  }
}

struct Copy {
  template <typename P>
  DEVICE P operator()(P a, P) const {
    return a;
  }
};
template <typename T>
struct Mul {
  template <int N>
  DEVICE Pack<T, N> operator()(Pack<T, N> a, Pack<T, N>) const {
    return broadcast<T, N>(scalar) * a;
  }
};
struct Add {
  template <typename P>
  DEVICE P operator()(P a, P b) const {
    return a + b;
  }
};
template <typename T>
struct Triad {
  template <int N>
  DEVICE Pack<T, N> operator()(Pack<T, N> a, Pack<T, N> b) const {
    return a + broadcast<T, N>(scalar) * b;
  }
};
template <typename T>
struct Write {
  template <int N>
  DEVICE Pack<T, N> operator()(Pack<T, N>, Pack<T, N>) const {
    return broadcast<T, N>(scalar);
  }
};

/// Computes one partial sum per block of a[i] (Inputs 1) or a[i] * b[i] (Inputs 2). `scratch` is in
/// shared memory, one T per wave.
template <int Inputs, bool StreamingLoads, typename T>
DEVICE void reduce(T* partial, const T* a, const T* b, u64 n, T* scratch) {
  using P = NativePack<T>;
  constexpr int width = sizeof(P) / sizeof(T);
  const u64 packs = n / width, threads = block_threads(), per_tile = threads * UNROLL;
  const Tiles tiles = my_tiles(packs, per_tile);
  const P* pa = reinterpret_cast<const P*>(a);
  const P* pb = reinterpret_cast<const P*>(b);
  P sums[UNROLL];
  UNROLL_LOOP
  for (int u = 0; u < UNROLL; ++u) sums[u] = broadcast<T, width>(0);
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 first = tile + thread_index();
    if (tile + per_tile <= packs) {
      UNROLL_LOOP
      for (int u = 0; u < UNROLL; ++u) {
        const P x = load<StreamingLoads>(pa + first + u * threads);
        sums[u] = sums[u] + (Inputs > 1 ? x * load<StreamingLoads>(pb + first + u * threads) : x);
      }
    } else {
      for (u64 i = first; i < packs; i += threads) {
        sums[0] = sums[0] + (Inputs > 1 ? pa[i] * pb[i] : pa[i]);
      }
    }
  }
  UNROLL_LOOP
  for (int u = 1; u < UNROLL; ++u) sums[0] = sums[0] + sums[u];
  T total = sums[0].sum();
  if (block_index() == 0) {
    for (u64 i = packs * width + thread_index(); i < n; i += threads) {
      total += Inputs > 1 ? a[i] * b[i] : a[i];
    }
  }
  total = block_reduce(total, Sum{}, scratch);
  if (thread_index() == 0) partial[block_index()] = total;
}

/// `hints`: bit 0 makes stores streaming, bit 1 loads. The best choice depends on device and size;
/// the host searches for it.
template <int Inputs, typename T, typename Compute>
DEVICE void run(T* out, const T* a, const T* b, u64 n, int hints, Compute compute) {
  if constexpr (has_streaming_loads) {
    if (hints == 3) return transform<Inputs, true, true>(out, a, b, n, compute);
    if (hints == 2) return transform<Inputs, true, false>(out, a, b, n, compute);
  }
  if (hints & 1) return transform<Inputs, false, true>(out, a, b, n, compute);
  transform<Inputs, false, false>(out, a, b, n, compute);
}

template <int Inputs, typename T>
DEVICE void run_reduction(T* partial, const T* a, const T* b, u64 n, int hints) {
  SHARED T scratch[most_waves];  // declared here, so that both branches below use the same memory
  if constexpr (has_streaming_loads) {
    if (hints & 2) return reduce<Inputs, true>(partial, a, b, n, scratch);
  }
  reduce<Inputs, false>(partial, a, b, n, scratch);
}

template <typename T>
DEVICE void initialize(T* x, u64 n, u32 which) {
  const Tiles tiles = my_tiles(n, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i < n) x[i] = static_cast<T>(input_value(i, which));
  }
}

/// Counts elements that differ from the expected result of `operation`. found[2 * block] is the
/// block's count, found[2 * block + 1] the index of its first wrong element (n if none).
template <typename T>
DEVICE void check(u64* found, const T* out, u64 n, int operation) {
  const Tiles tiles = my_tiles(n, block_threads());
  u64 wrong = 0, first = n;
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i < n && out[i] != static_cast<T>(expected_value(i, operation))) {
      if (i < first) first = i;
      ++wrong;
    }
  }
  store_findings(found, wrong, first);
}

}  // namespace

/// out: n elements; a, b: n elements each, ignored by operations with fewer inputs but never null.
#define MEMORY_KERNELS(T, suffix)                                               \
  KERNEL(copy_##suffix, T* out, const T* a, const T* b, u64 n, int hints) {     \
    run<1>(out, a, b, n, hints, Copy{});                                        \
  }                                                                             \
  KERNEL(mul_##suffix, T* out, const T* a, const T* b, u64 n, int hints) {      \
    run<1>(out, a, b, n, hints, Mul<T>{});                                      \
  }                                                                             \
  KERNEL(add_##suffix, T* out, const T* a, const T* b, u64 n, int hints) {      \
    run<2>(out, a, b, n, hints, Add{});                                         \
  }                                                                             \
  KERNEL(triad_##suffix, T* out, const T* a, const T* b, u64 n, int hints) {    \
    run<2>(out, a, b, n, hints, Triad<T>{});                                    \
  }                                                                             \
  KERNEL(write_##suffix, T* out, const T* a, const T* b, u64 n, int hints) {    \
    run<0>(out, a, b, n, hints, Write<T>{});                                    \
  }                                                                             \
  KERNEL(dot_##suffix, T* partial, const T* a, const T* b, u64 n, int hints) {  \
    run_reduction<2>(partial, a, b, n, hints);                                  \
  }                                                                             \
  KERNEL(read_##suffix, T* partial, const T* a, const T* b, u64 n, int hints) { \
    run_reduction<1>(partial, a, b, n, hints);                                  \
  }                                                                             \
  KERNEL(initialize_##suffix, T* x, u64 n, u32 which) {                         \
    initialize(x, n, which);                                                    \
  }                                                                             \
  KERNEL(check_##suffix, u64* found, const T* out, u64 n, int operation) {      \
    check(found, out, n, operation);                                            \
  }

MEMORY_KERNELS(float, f32)
MEMORY_KERNELS(double, f64)

/// The exact sums, one per block, for checking `read` (inputs 1) and `dot` (inputs 2).
KERNEL(exact_sum, u64* partial, u64 n, int inputs) {
  const Tiles tiles = my_tiles(n, block_threads());
  u64 sum = 0;
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i < n) sum += static_cast<u64>(input_value(i, 0)) * (inputs > 1 ? input_value(i, 1) : 1);
  }
  SHARED u64 scratch[most_waves];
  sum = block_reduce(sum, Sum{}, scratch);
  if (thread_index() == 0) partial[block_index()] = sum;
}
