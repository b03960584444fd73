// The declarations that hipRTC inserts before every program, as far as the kernel dialect needs
// them. They are written for clang without AMD's headers and device library.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define MI300X_LAUNCH_BOUNDS(threads, waves, ...) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
#define MI300X_LAUNCH_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define MI300X_SELECT(first, second, chosen, ...) chosen
#define __launch_bounds__(...) \
  MI300X_SELECT(__VA_ARGS__, MI300X_LAUNCH_BOUNDS, MI300X_LAUNCH_BOUNDS_1, )(__VA_ARGS__)

#define MI300X_INLINE __device__ inline __attribute__((always_inline))

// ---- Vectors ----

#define MI300X_VECTORS(T, name)                                        \
  struct name##1 {                                                     \
    T x;                                                               \
  };                                                                   \
  struct alignas(2 * sizeof(T)) name##2 {                              \
    T x, y;                                                            \
  };                                                                   \
  struct name##3 {                                                     \
    T x, y, z;                                                         \
  };                                                                   \
  struct alignas(4 * sizeof(T)) name##4 {                              \
    T x, y, z, w;                                                      \
  };                                                                   \
  MI300X_INLINE constexpr name##2 make_##name##2(T x, T y) {           \
    return {x, y};                                                     \
  }                                                                    \
  MI300X_INLINE constexpr name##3 make_##name##3(T x, T y, T z) {      \
    return {x, y, z};                                                  \
  }                                                                    \
  MI300X_INLINE constexpr name##4 make_##name##4(T x, T y, T z, T w) { \
    return {x, y, z, w};                                               \
  }
MI300X_VECTORS(signed char, char)
MI300X_VECTORS(unsigned char, uchar)
MI300X_VECTORS(short, short)
MI300X_VECTORS(unsigned short, ushort)
MI300X_VECTORS(int, int)
MI300X_VECTORS(unsigned, uint)
MI300X_VECTORS(long, long)
MI300X_VECTORS(unsigned long, ulong)
MI300X_VECTORS(long long, longlong)
MI300X_VECTORS(unsigned long long, ulonglong)
MI300X_VECTORS(float, float)
MI300X_VECTORS(double, double)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// ---- Position in the grid ----

/// The hidden arguments after a kernel's own; the numbers of workgroups come first.
MI300X_INLINE unsigned mi300x_blocks(unsigned dimension) {
  return ((const __attribute__((
      address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr())[dimension];
}

#define MI300X_PLACE(name, X, Y, Z)                                                     \
  struct name##_place {                                                                 \
    struct XValue {                                                                     \
      __device__ __attribute__((always_inline)) operator unsigned() const { return X; } \
    };                                                                                  \
    struct YValue {                                                                     \
      __device__ __attribute__((always_inline)) operator unsigned() const { return Y; } \
    };                                                                                  \
    struct ZValue {                                                                     \
      __device__ __attribute__((always_inline)) operator unsigned() const { return Z; } \
    };                                                                                  \
    XValue x;                                                                           \
    YValue y;                                                                           \
    ZValue z;                                                                           \
  };                                                                                    \
  static const __device__ name##_place name{};
MI300X_PLACE(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
             __builtin_amdgcn_workitem_id_z())
MI300X_PLACE(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
             __builtin_amdgcn_workgroup_id_z())
MI300X_PLACE(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
             __builtin_amdgcn_workgroup_size_z())
MI300X_PLACE(gridDim, mi300x_blocks(0), mi300x_blocks(1), mi300x_blocks(2))

static const __device__ int warpSize = 64;

// ---- Order ----

MI300X_INLINE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
MI300X_INLINE void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
MI300X_INLINE void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
MI300X_INLINE void __threadfence_system() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}

// ---- Lanes of a wave ----

MI300X_INLINE unsigned __lane_id() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
MI300X_INLINE unsigned long long __ballot(int predicate) {
  return __builtin_amdgcn_uicmp(static_cast<unsigned>(predicate), 0u, 33 /* not equal */);
}
MI300X_INLINE int __any(int predicate) {
  return __ballot(predicate) != 0;
}
MI300X_INLINE int __all(int predicate) {
  return __ballot(!predicate) == 0;
}

/// Returns the value of another lane, moved in words of 32 bits.
template <typename T>
MI300X_INLINE T mi300x_from_lane(T value, int lane) {
  constexpr int words = (sizeof(T) + 3) / 4;
  int parts[words] = {};
  __builtin_memcpy(parts, &value, sizeof(T));
  for (int& part : parts) part = __builtin_amdgcn_ds_bpermute(lane * 4, part);
  __builtin_memcpy(&value, parts, sizeof(T));
  return value;
}
template <typename T>
MI300X_INLINE T __shfl(T value, int lane, int width = 64) {
  const int self = static_cast<int>(__lane_id());
  return mi300x_from_lane(value, (lane & (width - 1)) + (self & ~(width - 1)));
}
template <typename T>
MI300X_INLINE T __shfl_xor(T value, int mask, int width = 64) {
  const int self = static_cast<int>(__lane_id()), lane = self ^ mask;
  return mi300x_from_lane(value, lane >= ((self + width) & ~(width - 1)) ? self : lane);
}
template <typename T>
MI300X_INLINE T __shfl_down(T value, unsigned by, int width = 64) {
  const int self = static_cast<int>(__lane_id()), lane = self + static_cast<int>(by);
  return mi300x_from_lane(value,
                          (self & (width - 1)) + static_cast<int>(by) >= width ? self : lane);
}
template <typename T>
MI300X_INLINE T __shfl_up(T value, unsigned by, int width = 64) {
  const int self = static_cast<int>(__lane_id()), lane = self - static_cast<int>(by);
  return mi300x_from_lane(value, lane < (self & ~(width - 1)) ? self : lane);
}

// ---- Atomics ----

template <typename T>
MI300X_INLINE T atomicAdd(T* address, T value) {
  return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
MI300X_INLINE T atomicSub(T* address, T value) {
  return __hip_atomic_fetch_add(address, -value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
MI300X_INLINE T atomicMin(T* address, T value) {
  return __hip_atomic_fetch_min(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
MI300X_INLINE T atomicMax(T* address, T value) {
  return __hip_atomic_fetch_max(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
MI300X_INLINE T atomicAnd(T* address, T value) {
  return __hip_atomic_fetch_and(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
MI300X_INLINE T atomicOr(T* address, T value) {
  return __hip_atomic_fetch_or(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
MI300X_INLINE T atomicXor(T* address, T value) {
  return __hip_atomic_fetch_xor(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
MI300X_INLINE T atomicExch(T* address, T value) {
  return __hip_atomic_exchange(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T>
MI300X_INLINE T atomicCAS(T* address, T compare, T value) {
  __hip_atomic_compare_exchange_strong(address, &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return compare;
}

// ---- Mathematics ----

MI300X_INLINE float sqrtf(float x) {
  return __builtin_sqrtf(x);
}
MI300X_INLINE double sqrt(double x) {
  return __builtin_sqrt(x);
}
MI300X_INLINE float fabsf(float x) {
  return __builtin_fabsf(x);
}
MI300X_INLINE double fabs(double x) {
  return __builtin_fabs(x);
}
MI300X_INLINE float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
MI300X_INLINE double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
MI300X_INLINE float fmaxf(float a, float b) {
  return __builtin_fmaxf(a, b);
}
MI300X_INLINE float fminf(float a, float b) {
  return __builtin_fminf(a, b);
}
MI300X_INLINE float rintf(float x) {
  return __builtin_rintf(x);
}
MI300X_INLINE float floorf(float x) {
  return __builtin_floorf(x);
}
MI300X_INLINE float expf(float x) {
  return __builtin_expf(x);
}
MI300X_INLINE float logf(float x) {
  return __builtin_logf(x);
}
MI300X_INLINE float __expf(float x) {
  return __builtin_amdgcn_exp2f(x * 1.44269504f);
}
MI300X_INLINE int __popc(unsigned x) {
  return __builtin_popcount(x);
}
MI300X_INLINE int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
