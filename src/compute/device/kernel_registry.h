// How kernels compiled for the CPU register themselves. This header is included by kernel files
// built for AVX-512, so it must have no inline function or template with external linkage: the
// linker could choose that build of it for all callers.
#pragma once

namespace assay::cpu {

/// The block that this thread runs. cpu::execute() sets it before each block.
struct BlockContext {
  unsigned block_x, block_y, block_z;  // the block's position in the grid
  unsigned grid_x, grid_y, grid_z;     // the grid's size in blocks
  void* dynamic_shared;                // the block's dynamic shared memory, uninitialized
};
extern constinit thread_local BlockContext current_block;

/// The wall clock of kernels (wall_ticks) on the CPU.
unsigned long long monotonic_nanoseconds();
/// Lets other threads run, because a kernel may be waiting for one of them.
void yield();

/// One kernel of one instruction-set build, linked into a list before main().
struct KernelEntry {
  const char* file;                        ///< "memory.cu"
  const char* name;                        ///< "triad_f64"
  const char* variant;                     ///< "x86_64_v3"
  void (*invoke)(void* const* arguments);  ///< runs one block; one pointer per parameter
  const unsigned* argument_bytes;          ///< size of each parameter
  unsigned arguments;                      ///< number of parameters
  const KernelEntry* next;                 ///< null: the last one
};
extern constinit const KernelEntry* kernel_entries;  ///< the first one; null: none

/// Returns the kernel with this file and name in the build `variant`, or in any build if `variant`
/// is null; null if there is none. The parameters are the same in all builds, and on every device.
const KernelEntry* find_kernel(const char* file, const char* name, const char* variant);

/// Puts an entry, a static object, into the list.
struct AddKernel {
  explicit AddKernel(KernelEntry& entry);  // defined in kernel_registry.cpp
};

}  // namespace assay::cpu
