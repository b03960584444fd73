// Facts about the machine for the CPU backend: usable CPUs, caches, memory, instruction set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/record/device_facts.h"

namespace assay::cpu {

/// Returns the CPUs that this process may run on, in the kernel's numbering; never empty.
std::vector<int> usable_cpus();

/// Sum of the last-level caches that the given CPUs share, in bytes; 0 if the kernel does not
/// report them.
std::uint64_t last_level_cache_bytes(const std::vector<int>& cpus);

/// Returns free and total bytes of memory, within the cgroup's limit.
std::pair<std::uint64_t, std::uint64_t> memory_free_and_total();

/// Returns the instruction-set build of the kernels to use, e.g. "x86_64_v3": the best one that
/// this CPU supports, or the one named in ASSAY_CPU_VARIANT if the CPU supports it.
std::string kernel_variant();

/// Lists the instruction sets that kernels were built for: "x86_64_v2, x86_64_v3, x86_64_v4".
std::string built_variants();

/// Measures the clock in Hz of the core that this thread runs on, by a chain of dependent
/// instructions of known latency (about 20 us). Returns 0 on architectures without such a chain.
double measure_core_clock();

/// Returns the CPU's name as the CPUID instruction gives it to this process. In some virtual
/// machines (PVM) the kernel sees another name. Empty on architectures without such an instruction.
std::string brand_of_cpu();

DeviceFacts host_facts();

}  // namespace assay::cpu
