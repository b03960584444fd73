// Cooperation of the lanes of a wave (NVIDIA: warp) and the waves of a block: shuffles, votes,
// reductions, atomics. On the CPU a wave has one lane and a block one wave, so that shuffles and
// reductions change nothing. Blocks are one-dimensional; where lanes cooperate, a block consists of
// whole waves.
#pragma once

#include "fast_math.h"

namespace {

// ---- Position in the block ----

#if defined(ON_CUDA)
constexpr u32 wave_width = 32;
#elif defined(ON_HIP) && defined(__GFX9__)
constexpr u32 wave_width = 64;  // CDNA
#elif defined(ON_HIP)
constexpr u32 wave_width = 32;  // RDNA
#else
constexpr u32 wave_width = 1;
#endif

DEVICE u32 lane_index() {
  return thread_index() % wave_width;
}
DEVICE u32 wave_index() {
  return thread_index() / wave_width;
}

// ---- Shuffles and votes: every lane of the wave takes part ----

/// The 32-bit words of a value, which are moved one by one.
template <typename T>
union Words {
  T value;
  u32 word[sizeof(T) / 4];
  DEVICE explicit Words(T x) : value(x) {}
};

DEVICE u32 shuffle_word(u32 word, u32 lane) {
#if defined(ON_CUDA)
  return __shfl_sync(0xFFFFFFFFu, word, static_cast<int>(lane));
#elif defined(ON_HIP)
  return static_cast<u32>(
      __builtin_amdgcn_ds_bpermute(static_cast<int>(lane * 4), static_cast<int>(word)));
#else
  return lane == 0 ? word : 0;
#endif
}

/// Returns the `value` of lane `lane` of the wave; T's size is a multiple of 4 bytes.
template <typename T>
DEVICE T shuffle(T value, u32 lane) {
  Words<T> words(value);
  UNROLL_LOOP
  for (u32 i = 0; i < sizeof(T) / 4; ++i) words.word[i] = shuffle_word(words.word[i], lane);
  return words.value;
}

/// Returns the `value` of the lane whose index is this lane's XOR `mask`.
template <typename T>
DEVICE T shuffle_xor(T value, u32 mask) {
  return shuffle(value, lane_index() ^ mask);
}

/// Returns a mask in which bit n is set if lane n passed true.
DEVICE u64 ballot(bool yes) {
#if defined(ON_CUDA)
  return __ballot_sync(0xFFFFFFFFu, yes);
#elif defined(ON_HIP)
  return __builtin_amdgcn_uicmp(yes ? 1u : 0u, 0u, 33);  // 33 is "not equal"
#else
  return yes ? 1 : 0;
#endif
}
DEVICE bool any_lane(bool yes) {
  return ballot(yes) != 0;
}

/// Makes what the lanes of this wave wrote to shared memory visible to its other lanes.
DEVICE void wave_barrier() {
#if defined(ON_CUDA)
  __syncwarp();
#elif defined(ON_HIP)
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
#endif
}

// ---- Reductions ----

struct Sum {
  template <typename T>
  DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};
struct Maximum {
  template <typename T>
  DEVICE T operator()(T a, T b) const {
    return a > b ? a : b;
  }
  DEVICE float operator()(float a, float b) const { return larger(a, b); }
};
struct Minimum {
  template <typename T>
  DEVICE T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};

#if defined(ON_HIP) && defined(__GFX9__)
/// Moves a value within rows of 16 lanes with a DPP control, without LDS access.
template <int CONTROL, typename T>
DEVICE T move_in_row(T value) {
  Words<T> words(value);
  UNROLL_LOOP
  for (u32 i = 0; i < sizeof(T) / 4; ++i) {
    const int word = static_cast<int>(words.word[i]);
    words.word[i] =
        static_cast<u32>(__builtin_amdgcn_update_dpp(word, word, CONTROL, 0xF, 0xF, false));
  }
  return words.value;
}
#endif

/// Combines the values of `lanes` neighbouring lanes, a power of two; each of them gets the same
/// bits. `combine` must be commutative, because partners combine the same pair in either order.
template <typename T, typename Combine>
DEVICE T team_reduce(T value, Combine combine, u32 lanes) {
#if defined(ON_HIP) && defined(__GFX9__)
  if (lanes > 1) value = combine(value, move_in_row<0xB1>(value));   // quad_perm 1 0 3 2
  if (lanes > 2) value = combine(value, move_in_row<0x4E>(value));   // quad_perm 2 3 0 1
  if (lanes > 4) value = combine(value, move_in_row<0x141>(value));  // row_half_mirror: of eight
  if (lanes > 8) value = combine(value, move_in_row<0x140>(value));  // row_mirror: of sixteen
  if (lanes > 16) value = combine(value, shuffle_xor(value, 16));
  if (lanes > 32) value = combine(value, shuffle_xor(value, 32));
#else
  UNROLL_LOOP
  for (u32 mask = 1; mask < wave_width; mask *= 2) {
    if (mask < lanes) value = combine(value, shuffle_xor(value, mask));
  }
#endif
  return value;
}

/// Combines the values of all lanes, as team_reduce().
template <typename T, typename Combine>
DEVICE T wave_reduce(T value, Combine combine) {
  return team_reduce(value, combine, wave_width);
}

/// The maximum number of waves in a block.
#if defined(ON_CPU)
constexpr u32 most_waves = 1;
#else
constexpr u32 most_waves = (BLOCK_LIMIT + wave_width - 1) / wave_width;
#endif

/// Combines the values of all threads; every thread gets the same bits. `scratch` has most_waves
/// elements in shared memory and may be reused after the next barrier.
template <typename T, typename Combine>
DEVICE T block_reduce(T value, Combine combine, T* scratch) {
  value = wave_reduce(value, combine);
  const u32 waves = (block_threads() + wave_width - 1) / wave_width;
  if (waves == 1) return value;
  if (lane_index() == 0) scratch[wave_index()] = value;
  barrier();
  value = scratch[0];
  for (u32 wave = 1; wave < waves; ++wave) value = combine(value, scratch[wave]);
  return value;
}

/// Stores the result of a kernel that checks elements. This thread found `wrong` wrong elements,
/// the first at index `first`. found[2 * block] receives the block's total, found[2 * block + 1]
/// the lowest index.
DEVICE void store_findings(u64* found, u64 wrong, u64 first) {
  SHARED u64 scratch[2][most_waves];
  wrong = block_reduce(wrong, Sum{}, scratch[0]);
  first = block_reduce(first, Minimum{}, scratch[1]);
  if (thread_index() != 0) return;
  found[2 * block_index()] = wrong;
  found[2 * block_index() + 1] = first;
}

// ---- Atomics on global or shared memory, visible to the whole device ----
//
// They return the value from before and do not order other memory accesses.

#if defined(ON_CUDA)
DEVICE u64 atomic_add(u64* to, u64 value) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(to), value);
}
DEVICE u32 atomic_add(u32* to, u32 value) {
  return atomicAdd(to, value);
}
DEVICE float atomic_add(float* to, float value) {
  return atomicAdd(to, value);
}
DEVICE double atomic_add(double* to, double value) {
  return atomicAdd(to, value);
}
DEVICE u32 atomic_max(u32* to, u32 value) {
  return atomicMax(to, value);
}
DEVICE u32 atomic_exchange(u32* to, u32 value) {
  return atomicExch(to, value);
}
DEVICE u32 atomic_compare_exchange(u32* to, u32 expected, u32 value) {
  return atomicCAS(to, expected, value);
}
#elif defined(ON_HIP)
template <typename T>
DEVICE T atomic_add(T* to, T value) {
  return __hip_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE u32 atomic_max(u32* to, u32 value) {
  return __hip_atomic_fetch_max(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE u32 atomic_exchange(u32* to, u32 value) {
  return __hip_atomic_exchange(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE u32 atomic_compare_exchange(u32* to, u32 expected, u32 value) {
  __hip_atomic_compare_exchange_strong(to, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}
#else
template <typename T>
DEVICE T atomic_add(T* to, T value) {
  T old;
  __atomic_load(to, &old, __ATOMIC_RELAXED);
  for (T wanted = old + value;
       !__atomic_compare_exchange(to, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
       wanted = old + value) {
  }
  return old;
}
DEVICE u32 atomic_max(u32* to, u32 value) {
  u32 old = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (old < value &&
         !__atomic_compare_exchange_n(to, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return old;
}
DEVICE u32 atomic_exchange(u32* to, u32 value) {
  return __atomic_exchange_n(to, value, __ATOMIC_RELAXED);
}
DEVICE u32 atomic_compare_exchange(u32* to, u32 expected, u32 value) {
  __atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
#endif

/// Returns whether this block is the last of `blocks` to call this with `arrived`, which is zero
/// before and after. The last block sees what the others stored before their calls. All threads
/// call it.
DEVICE bool is_last_block(u32* arrived, u32 blocks) {
#if defined(ON_CPU)
  if (__atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL) != blocks) return false;
#else
  SHARED u32 before;
  device_fence();
  barrier();
  if (thread_index() == 0) before = atomic_add(arrived, 1u);
  barrier();
  if (before + 1 != blocks) return false;
  device_fence();
#endif
  if (thread_index() == 0) *arrived = 0;
  return true;
}

}  // namespace
