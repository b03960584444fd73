// The made-up machine of tests/machines around the devices of the virtual runtime: the same GPUs,
// seen from the side of the kernel.
#pragma once

#include "machines/memory_machine.h"
#include "runtime/machine.h"

namespace mi300x {

/// A well tuned host with `cpus` processors and the GPUs that `runtime` shows. Throws
/// std::runtime_error where the two sides would tell different stories of one GPU.
assay::MemoryMachine virtual_machine(const runtime::Machine& runtime, int cpus);

}  // namespace mi300x
