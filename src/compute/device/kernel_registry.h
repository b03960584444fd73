// How kernels compiled for the CPU register themselves. This header is included by kernel files
// built for AVX-512, so it must have no inline function or template with external linkage: the
// linker could choose that build of it for all callers.
#pragma once

namespace assay::cpu {

/// The position of a running kernel in the grid. Set by the executor before each block.
struct BlockContext {
  unsigned block_x, block_y, block_z;
  unsigned grid_x, grid_y, grid_z;
  void* dynamic_shared;
};
extern constinit thread_local BlockContext current_block;

/// The wall clock of kernels (wall_ticks) on the CPU.
unsigned long long monotonic_nanoseconds();
/// Lets other threads run, because a kernel may be waiting for one of them.
void yield();

/// One kernel of one instruction-set build, linked into a list before main().
struct KernelEntry {
  const char* file;     ///< "memory.cu"
  const char* name;     ///< "triad_f64"
  const char* variant;  ///< "x86_64_v3"
  void (*invoke)(void* const* arguments);
  const unsigned* argument_bytes;
  unsigned arguments;
  const KernelEntry* next;
};
extern constinit const KernelEntry* kernel_entries;

/// Returns the kernel with this file and name in the build `variant`, or in any build if `variant`
/// is null; null if there is none. The parameters are the same in all builds, and on every device.
const KernelEntry* find_kernel(const char* file, const char* name, const char* variant);

struct AddKernel {
  explicit AddKernel(KernelEntry& entry);  // defined in kernel_registry.cpp
};

}  // namespace assay::cpu
