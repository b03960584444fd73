// What the CPU backend needs to know about the machine: usable CPUs, caches, memory, instruction
// set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/record/device_facts.h"

namespace assay::cpu {

/// CPUs this process may run on, in kernel numbering; never empty.
std::vector<int> usable_cpus();

/// Sum of the last-level caches that the given CPUs share, in bytes; 0 if the kernel does not
/// report them.
std::uint64_t last_level_cache_bytes(const std::vector<int>& cpus);

/// Free and total bytes of memory, within the cgroup's limit.
std::pair<std::uint64_t, std::uint64_t> memory_free_and_total();

/// The instruction-set build of the kernels to use: the best that this CPU supports, or the one
/// named in ASSAY_CPU_VARIANT if supported. E.g. "x86_64_v3".
std::string kernel_variant();

/// The instruction sets that kernels were built for: "x86_64_v2, x86_64_v3, x86_64_v4".
std::string built_variants();

/// Clock of the core this thread runs on, in Hz, from a chain of dependent instructions of known
/// latency (about 20 us). 0 on architectures for which there is no such chain.
double measure_core_clock();

/// The CPU's name as it says it to this process, which in some virtual machines (PVM) is another
/// than it says to the kernel. Empty for architectures whose CPUs say none.
std::string brand_of_cpu();

DeviceFacts host_facts();

}  // namespace assay::cpu
