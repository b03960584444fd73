// Copies from global to shared memory that go on while a thread computes: begun one by one, closed
// in groups, awaited before a barrier that shows the block what they brought.
#pragma once

#include "dialect.h"

namespace {

/// 16 bytes in transit.
struct alignas(16) Chunk {
  u32 word[4];
};

/// Begins to copy 16 bytes; both addresses must be aligned to 16. NVIDIA's hardware copies past the
/// registers. Elsewhere this is a load and a store, which waits for the load: there, load several
/// chunks into registers first, as TileCopy does.
DEVICE void begin_copy(void* shared, const void* global) {
#if defined(ON_CUDA)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<u32>(__cvta_generic_to_shared(shared))),
               "l"(global));
#else
  *static_cast<Chunk*>(shared) = *static_cast<const Chunk*>(global);
#endif
}

/// Closes a group of the copies that this thread began since the last group.
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
