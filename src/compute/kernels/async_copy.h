// Asynchronous copies from global to shared memory. A thread begins them one by one, closes them in
// groups, and awaits a group before the barrier after which the block may read the data.
#pragma once

#include "dialect.h"

namespace {

/// 16 bytes, the unit of a copy.
struct alignas(16) Chunk {
  u32 word[4];
};

/// Begins to copy 16 bytes; both addresses must be aligned to 16. On NVIDIA (sm_80 or later) the
/// copy bypasses the registers. On other devices it is a load and a store, which waits for the
/// load; there, load several chunks into registers first, as TileCopy (tile_memory.h) does.
DEVICE void begin_copy(void* shared, const void* global) {
#if defined(ON_CUDA)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<u32>(__cvta_generic_to_shared(shared))),
               "l"(global));
#else
  *static_cast<Chunk*>(shared) = *static_cast<const Chunk*>(global);
#endif
}

/// Closes a group: all copies that this thread began since it closed the last group.
DEVICE void close_copies() {
#if defined(ON_CUDA)
  asm volatile("cp.async.commit_group;");
#endif
}

/// Waits until at most N of this thread's groups of copies are in flight.
template <int N>
DEVICE void await_copies() {
#if defined(ON_CUDA)
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

}  // namespace
