// What launches with attributes and tensor maps promise, written down by kernels, so that tests can
// read it.
#include "dialect.h"

/// ranks[b] is the number of block b in its cluster.
KERNEL(cluster_ranks, u32* ranks) {
  if (thread_index() == 0) ranks[block_index()] = cluster_rank();
}

/// One link of a chain of launches: *to = *from + 1, at the earliest `ticks` of wall_ticks() after
/// the link before has ended. times[0]: when it began, times[1]: when that one had ended. One
/// thread of one block.
KERNEL(relay, u32* to, const u32* from, u64 ticks, u64* times) {
  if (thread_index() != 0) return;
  times[0] = wall_ticks();
  let_next_kernel_begin();
  wait_for_previous_kernel();
  const u64 start = wall_ticks();
  times[1] = start;
  while (wall_ticks() - start < ticks) relax();
  publish(to, observe(from) + 1);
}

/// The box of `map` that begins at (column, row), the column a multiple of 16 bytes, as the TMA
/// puts it into shared memory: `bytes`, at most 16 KiB. Zeros where there is no TMA. One block.
KERNEL(load_box, TENSOR_MAP map, i32 column, i32 row, u32 bytes, u32* to) {
  constexpr u32 words = 4096;
  SHARED __attribute__((aligned(1024))) u32 box[words];  // the swizzle's pattern repeats after that
#if defined(ON_HOPPER)
  SHARED u64 arrival;  // an mbarrier
  const u32 there = static_cast<u32>(__cvta_generic_to_shared(box));
  const u32 arrived = static_cast<u32>(__cvta_generic_to_shared(&arrival));
  if (thread_index() == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrived) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // so that the TMA sees it
  }
  barrier();
  if (thread_index() == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(there),
        "l"(reinterpret_cast<u64>(&map)), "r"(column), "r"(row), "r"(arrived)
        : "memory");
  }
  u32 done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(arrived)
        : "memory");
  }
#else
  static_cast<void>(map), static_cast<void>(column), static_cast<void>(row);
  for (u32 i = thread_index(); i < words; i += block_threads()) box[i] = 0;
  barrier();
#endif
  for (u32 i = thread_index(); i < bytes / 4 && i < words; i += block_threads()) to[i] = box[i];
}
