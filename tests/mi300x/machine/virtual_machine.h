// An artificial machine of tests/machines with the devices of the virtual runtime: the kernel's
// files describe the same GPUs.
#pragma once

#include "machines/memory_machine.h"
#include "runtime/machine.h"

namespace mi300x {

/// Returns a well-tuned host with `cpus` processors and the GPUs of `runtime`. Throws
/// std::runtime_error if the two descriptions of a GPU would differ.
assay::MemoryMachine virtual_machine(const runtime::Machine& runtime, int cpus);

}  // namespace mi300x
