// An invented machine of tests/machines with the devices of the virtual runtime: the same GPUs as
// the kernel presents them.
#pragma once

#include "machines/memory_machine.h"
#include "runtime/machine.h"

namespace mi300x {

/// A well tuned host with `cpus` processors and the GPUs that `runtime` shows. Throws
/// std::runtime_error if the two would describe a GPU differently.
assay::MemoryMachine virtual_machine(const runtime::Machine& runtime, int cpus);

}  // namespace mi300x
