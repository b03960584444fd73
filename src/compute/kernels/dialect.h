// The dialect of all kernels. The same source is compiled by NVRTC, by hipRTC, and by the host
// compiler for the CPU; all differences are in this header.
//
// Most kernels are block-stride: each thread of a block takes items that are block_threads() apart,
// so that any number of threads covers the block's work. Some kernels made by KERNEL_OF need
// exactly its number of threads. On the CPU a block has one thread, thread_index() is 0 and
// barrier() does nothing.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define ON_CUDA 1
#elif defined(__HIPCC_RTC__) || defined(__HIP__)
#define ON_HIP 1
#else
#define ON_CPU 1
#endif

#if defined(ON_CUDA)
#if __CUDA_ARCH__ >= 900
#define ON_HOPPER 1  // or later
#endif
#endif

// Tuning constants, given with -D on GPUs. They change speed, never results.
#ifndef UNROLL
#define UNROLL 4  // packs in flight per thread
#endif
#ifndef BLOCK_LIMIT
#define BLOCK_LIMIT 1024  // maximum threads per block
#endif

#if defined(ON_CPU)

#include "compute/device/kernel_registry.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define SHARED  // a block has one thread, so its stack serves as shared memory

#if defined(COMPILE_QUICKLY)  // without forced inlining and unrolling
#define DEVICE inline
#define UNROLL_LOOP
#define UNROLL_SOME
#else
#define DEVICE inline __attribute__((always_inline))
#define UNROLL_LOOP _Pragma("GCC unroll 8")
#define UNROLL_SOME _Pragma("GCC unroll 4")
#endif
#if defined(__AVX512F__)
#define PACK_BYTES 64  // one vector register
#elif defined(__AVX__)
#define PACK_BYTES 32
#else
#define PACK_BYTES 16
#endif
#define KERNEL_TEXT(x) #x
#define KERNEL_VARIANT(x) KERNEL_TEXT(x)
/// Defines and registers a kernel: KERNEL(name, parameters...) { body }. KERNEL_OF additionally
/// takes the threads of a block and how many blocks share a multiprocessor; with fewer blocks each
/// thread gets more registers.
#define KERNEL_OF(threads, blocks, name, ...) KERNEL(name, __VA_ARGS__)
#define KERNEL(name, ...)                                                             \
  static void name(__VA_ARGS__);                                                      \
  static ::assay::cpu::KernelEntry name##_entry = {__FILE_NAME__,                     \
                                                   #name,                             \
                                                   KERNEL_VARIANT(ASSAY_CPU_VARIANT), \
                                                   &Invoke<&name>::call,              \
                                                   Invoke<&name>::bytes,              \
                                                   Invoke<&name>::count,              \
                                                   nullptr};                          \
  static const ::assay::cpu::AddKernel name##_added(name##_entry);                    \
  static void name(__VA_ARGS__)

#else  // a GPU

#if defined(ON_HIP) && !defined(__HIPCC_RTC__)
// The tests compile for gfx90a and gfx942 with plain clang, without the HIP headers.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#endif
#define DEVICE __device__ inline __attribute__((always_inline))
#define SHARED __shared__
#define UNROLL_LOOP _Pragma("unroll")
#define UNROLL_SOME _Pragma("unroll 4")
#ifndef PACK_BYTES
#define PACK_BYTES 16  // one vector load of a thread
#endif
#if defined(ON_HIP)  // HIP's second launch bound counts waves per SIMD, and a CU has 4 SIMDs
#define KERNEL_OF(threads, blocks, name, ...)                                     \
  extern "C" __global__ void __launch_bounds__(threads)                           \
      __attribute__((amdgpu_waves_per_eu(1, ((threads) * (blocks) + 255) / 256))) \
      name(__VA_ARGS__)
#else
#define KERNEL_OF(threads, blocks, name, ...) \
  extern "C" __global__ void __launch_bounds__(threads, blocks) name(__VA_ARGS__)
#endif
#define KERNEL(name, ...) \
  extern "C" __global__ void __launch_bounds__(BLOCK_LIMIT) name(__VA_ARGS__)

#endif

// The namespace is unnamed, so that nothing is merged across instruction-set builds.
namespace {

using i8 = signed char;
using u8 = unsigned char;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

#if defined(ON_HIP)
/// Waits for this wave's stores to shared memory, before a barrier. clang 19 omits that wait for a
/// barrier at the beginning of a loop: it considers only the entry of the loop and not its back
/// edge.
DEVICE void await_shared_stores() {
#if defined(__GFX9__)
  constexpr int no_lds_operation_left = 0xC07F;  // lgkmcnt(0), and no limit for the other counters
  __builtin_amdgcn_s_waitcnt(no_lds_operation_left);
#endif
}
#endif

// ---- Position in the grid ----

#if defined(ON_CPU)
DEVICE u32 thread_index() {
  return 0;
}
DEVICE u32 block_threads() {
  return 1;
}
DEVICE u32 block_index() {
  return ::assay::cpu::current_block.block_x;
}
DEVICE u32 block_index_y() {
  return ::assay::cpu::current_block.block_y;
}
DEVICE u32 block_index_z() {
  return ::assay::cpu::current_block.block_z;
}
DEVICE u32 grid_blocks() {
  return ::assay::cpu::current_block.grid_x;
}
DEVICE void barrier() {}
#elif defined(ON_HIP) && !defined(__HIPCC_RTC__)
DEVICE u32 thread_index() {
  return __builtin_amdgcn_workitem_id_x();
}
DEVICE u32 block_threads() {
  return __builtin_amdgcn_workgroup_size_x();
}
DEVICE u32 block_index() {
  return __builtin_amdgcn_workgroup_id_x();
}
DEVICE u32 block_index_y() {
  return __builtin_amdgcn_workgroup_id_y();
}
DEVICE u32 block_index_z() {
  return __builtin_amdgcn_workgroup_id_z();
}
DEVICE u32 grid_blocks() {
  return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x();
}
DEVICE void barrier() {
  await_shared_stores();
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#else
DEVICE u32 thread_index() {
  return threadIdx.x;
}
DEVICE u32 block_threads() {
  return blockDim.x;
}
DEVICE u32 block_index() {
  return blockIdx.x;
}
DEVICE u32 block_index_y() {
  return blockIdx.y;
}
DEVICE u32 block_index_z() {
  return blockIdx.z;
}
DEVICE u32 grid_blocks() {
  return gridDim.x;
}
DEVICE void barrier() {
#if defined(ON_HIP)
  await_shared_stores();
#endif
  __syncthreads();
}
#endif

// ---- Features of a launch (LaunchAttributes of compute/device/device.h) ----

/// In a kernel with a programmatic launch: waits until the previous kernel in the stream has ended
/// and its stores are visible. In other kernels this always holds, and the function does nothing.
DEVICE void wait_for_previous_kernel() {
#if defined(ON_HOPPER)
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel, if its launch is programmatic, begin as soon as every block has called
/// this function or ended.
DEVICE void let_next_kernel_begin() {
#if defined(ON_HOPPER)
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Returns the number of this block in its cluster; 0 without clusters.
DEVICE u32 cluster_rank() {
#if defined(ON_HOPPER)
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return 0;
#endif
}

/// The result of Device::tensor_map() as a parameter: KERNEL(name, TENSOR_MAP map, ...).
#if defined(ON_CUDA)
struct alignas(64) TensorMap {
  u64 words[16];
};
#define TENSOR_MAP const __grid_constant__ TensorMap
#else
struct TensorMap {
  u64 words[16];
};
#define TENSOR_MAP const TensorMap
#endif

/// Returns the shared memory whose size is set at launch, aligned to 128 bytes, or on the CPU as
/// max_align_t.
DEVICE void* dynamic_shared() {
#if defined(ON_CPU)
  return ::assay::cpu::current_block.dynamic_shared;
#else
  extern SHARED unsigned char dynamic_shared_bytes[] __attribute__((aligned(128)));
  return dynamic_shared_bytes;
#endif
}

/// The tiles that a block processes out of `items`, `per_tile` items each: they start at begin,
/// begin + step, ... below end. On a GPU tiles are interleaved, so that adjacent blocks access
/// adjacent memory. On a CPU a block has one contiguous range, which suits prefetchers and NUMA
/// nodes.
struct Tiles {
  u64 begin, end, step;
};
DEVICE Tiles my_tiles(u64 items, u64 per_tile) {
#if defined(ON_CPU)
  const u64 blocks = grid_blocks(), tiles = (items + per_tile - 1) / per_tile;
  const u64 end = tiles * (block_index() + 1) / blocks * per_tile;
  return {tiles * block_index() / blocks * per_tile, end < items ? end : items, per_tile};
#else
  // There is no division here: it would take about as long as a block with small tiles runs.
  return {block_index() * per_tile, items, grid_blocks() * per_tile};
#endif
}

// ---- Packs: the widest load and store of one thread ----

#if defined(ON_CPU)
/// N values of T in one vector register.
template <typename T, int N>
struct Pack {
  typedef T Vector __attribute__((vector_size(N * sizeof(T)), aligned(sizeof(T))));
  Vector v;
  DEVICE T sum() const {
    T total = 0;
    for (int i = 0; i < N; ++i) total += v[i];
    return total;
  }
};
template <typename T, int N>
DEVICE Pack<T, N> broadcast(T value) {
  return {value - typename Pack<T, N>::Vector{}};
}
template <typename T, int N>
DEVICE Pack<T, N> operator+(Pack<T, N> a, Pack<T, N> b) {
  return {a.v + b.v};
}
template <typename T, int N>
DEVICE Pack<T, N> operator*(Pack<T, N> a, Pack<T, N> b) {
  return {a.v * b.v};
}
#else
template <typename T, int N>
struct alignas(N * sizeof(T)) Pack {
  T v[N];
  DEVICE T sum() const {
    T total = 0;
    UNROLL_LOOP
    for (int i = 0; i < N; ++i) total += v[i];
    return total;
  }
};
template <typename T, int N>
DEVICE Pack<T, N> broadcast(T value) {
  Pack<T, N> result;
  UNROLL_LOOP
  for (int i = 0; i < N; ++i) result.v[i] = value;
  return result;
}
template <typename T, int N>
DEVICE Pack<T, N> operator+(Pack<T, N> a, Pack<T, N> b) {
  UNROLL_LOOP
  for (int i = 0; i < N; ++i) a.v[i] += b.v[i];
  return a;
}
template <typename T, int N>
DEVICE Pack<T, N> operator*(Pack<T, N> a, Pack<T, N> b) {
  UNROLL_LOOP
  for (int i = 0; i < N; ++i) a.v[i] *= b.v[i];
  return a;
}
#endif

/// Stores bypassing the caches if the hardware can do so; `to` must be aligned to the pack. On a
/// CPU the pack must have PACK_BYTES.
template <typename T, int N>
DEVICE void store_streaming(Pack<T, N>* to, Pack<T, N> pack) {
#if defined(ON_CPU) && defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(pack.v));
#elif defined(ON_CPU) && defined(__AVX__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(pack.v));
#elif defined(ON_CPU) && defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(pack.v));
#elif defined(ON_CUDA)
  // 16 bytes at a time with the evict-first hint; a narrower pack gets an ordinary store.
  if (sizeof(pack) % 16 == 0) {
    for (unsigned i = 0; i < sizeof(pack) / 16; ++i) {
      __stcs(reinterpret_cast<float4*>(to) + i, reinterpret_cast<const float4*>(&pack)[i]);
    }
  } else {
    *to = pack;
  }
#elif defined(ON_HIP)
  UNROLL_LOOP
  for (unsigned i = 0; i < sizeof(pack.v) / sizeof(pack.v[0]); ++i) {
    __builtin_nontemporal_store(pack.v[i], &to->v[i]);
  }
#else
  *to = pack;
#endif
}

/// Begins to fetch the line of memory at `address` into the device's cache, if the hardware can do
/// so.
DEVICE void prefetch_line(const void* address) {
#if defined(ON_CUDA)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#else
  (void)address;
#endif
}

/// Whether load_streaming() differs from a plain load.
#if defined(ON_CPU)
constexpr bool has_streaming_loads = false;
#else
constexpr bool has_streaming_loads = true;
#endif

/// Loads without keeping the line in the caches, if the hardware can do so.
template <typename T, int N>
DEVICE Pack<T, N> load_streaming(const Pack<T, N>* from) {
#if defined(ON_CUDA)
  if (sizeof(Pack<T, N>) % 16 != 0) return *from;
  Pack<T, N> pack;
  UNROLL_LOOP
  for (unsigned i = 0; i < sizeof(pack) / 16; ++i) {
    reinterpret_cast<float4*>(&pack)[i] = __ldcs(reinterpret_cast<const float4*>(from) + i);
  }
  return pack;
#elif defined(ON_HIP)
  Pack<T, N> pack;
  UNROLL_LOOP
  for (unsigned i = 0; i < sizeof(pack.v) / sizeof(pack.v[0]); ++i) {
    pack.v[i] = __builtin_nontemporal_load(&from->v[i]);
  }
  return pack;
#else
  return *from;
#endif
}

/// Makes this thread's streaming stores visible before its later operations.
DEVICE void streaming_fence() {
#if defined(ON_CPU) && defined(__x86_64__)
  _mm_sfence();
#endif
}

// ---- Clocks ----

/// Returns a steady clock in ticks; the host knows the ticks per second (DeviceFacts).
DEVICE u64 wall_ticks() {
#if defined(ON_CUDA)
  u64 ticks;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ticks));
  return ticks;  // nanoseconds
#elif defined(ON_HIP)
#if __has_builtin(__builtin_readsteadycounter)
  return __builtin_readsteadycounter();  // s_memrealtime, 100 MHz on CDNA
#else
  return __builtin_amdgcn_s_memrealtime();  // compilers of ROCm 5
#endif
#else
  return ::assay::cpu::monotonic_nanoseconds();
#endif
}

/// Returns the engine's cycle counter. On the CPU, where kernels cannot read one, returns the wall
/// clock.
DEVICE u64 cycles() {
#if defined(ON_CUDA)
  return clock64();
#elif defined(ON_HIP)
  return __builtin_readcyclecounter();   // s_memtime: the shader clock
#else
  return wall_ticks();
#endif
}

/// Returns the physical SM or CU that a thread runs on; used only to select one of them. The
/// numbers have gaps, because parts of a chip may be disabled.
DEVICE u32 multiprocessor_index() {
#if defined(ON_CUDA)
  u32 index;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(index));
  return index;
#elif defined(ON_HIP)
  // HW_REG_HW_ID (4): CU id in bits 8-11, shader array 12, shader engine 13-15. XCC_ID (20) on
  // gfx94x.
  u32 id = __builtin_amdgcn_s_getreg(4 | (8 << 6) | (7 << 11));
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
  id |= __builtin_amdgcn_s_getreg(20 | (0 << 6) | (3 << 11)) << 8;
#endif
  return id;
#else
  return block_index();  // each block runs on one thread
#endif
}

#if defined(ON_HIP)
/// Memory of a device or of the host, never LDS. An access that may be to either kind is also
/// counted as an LDS access, so that waits for LDS wait for it, too.
template <typename T>
using Global = __attribute__((address_space(1))) T;
/// Memory that nobody writes while the kernel runs.
template <typename T>
using Constant = __attribute__((address_space(4))) T;
#endif

/// Returns *from, which must be the same for all threads of a block and must not change while the
/// kernel runs. On AMD this does not wait for earlier stores.
template <typename T>
DEVICE T load_constant(const T* from) {
#if defined(ON_HIP)
  return *(Constant<const T>*)from;
#else
  return *from;
#endif
}

/// Reads a word that another agent, a device or a host thread, may write concurrently. On AMD it is
/// an atomic access with system scope, because the compiler waits for every volatile access before
/// it makes the next.
template <typename T>
DEVICE T observe(const T* word) {
#if defined(ON_CPU)
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#elif defined(ON_HIP)
  return __hip_atomic_load((Global<const T>*)word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#else
  return *static_cast<const volatile T*>(word);
#endif
}

/// Writes a word that another agent may read concurrently.
template <typename T>
DEVICE void publish(T* word, T value) {
#if defined(ON_CPU)
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
#elif defined(ON_HIP)
  __hip_atomic_store((Global<T>*)word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#else
  *static_cast<volatile T*>(word) = value;
#endif
}

/// A pause inside a loop that waits for another agent.
DEVICE void relax() {
#if defined(ON_CUDA)
  __nanosleep(100);
#elif defined(ON_HIP)
  __builtin_amdgcn_s_sleep(2);
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Pauses inside a loop that waits for another thread, and lets that thread run.
DEVICE void yield() {
#if defined(ON_CPU)
  ::assay::cpu::yield();
#else
  relax();
#endif
}

/// Orders memory for all devices of the system: they see this thread's earlier stores before its
/// later ones, and its later loads are no older than its earlier ones. On the CPU publish() and
/// observe() do that.
DEVICE void system_fence() {
#if defined(ON_CUDA)
  __threadfence_system();
#elif defined(ON_HIP)
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");  // system scope
#endif
}

#if !defined(ON_CPU)
/// Orders memory like system_fence(), but only within this device.
DEVICE void device_fence() {
#if defined(ON_CUDA)
  __threadfence();
#else
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
#endif
}
#endif

#if defined(ON_CPU)
/// Unpacks an argument array into a typed call.
template <auto Function>
struct Invoke;
template <typename... Parameters, void (*Function)(Parameters...)>
struct Invoke<Function> {
  static constexpr unsigned count = sizeof...(Parameters);
  static constexpr unsigned bytes[] = {sizeof(Parameters)...};
  template <unsigned... Index>
  struct Indices {};
  template <unsigned N, unsigned... Index>
  struct Count : Count<N - 1, N - 1, Index...> {};
  template <unsigned... Index>
  struct Count<0, Index...> {
    static void call(void* const* arguments) {
      Function(*static_cast<Parameters*>(arguments[Index])...);
    }
  };
  static void call(void* const* arguments) { Count<count>::call(arguments); }
};
#endif

}  // namespace
