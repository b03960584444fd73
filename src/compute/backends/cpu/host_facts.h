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

/// Returns free and total bytes of memory, at most what each control group around this process
/// allows.
std::pair<std::uint64_t, std::uint64_t> memory_free_and_total();

/// Returns the instruction set whose build of the kernels is to be used, e.g. "x86_64_v3": the best
/// one that was built and this CPU supports, or the one named in ASSAY_CPU_VARIANT if it is built
/// and supported. Empty if the CPU supports none.
std::string kernel_variant();

/// Lists the instruction sets that kernels were built for: "x86_64_v2, x86_64_v3, x86_64_v4".
std::string built_variants();

/// Measures the clock in Hz of the core that this thread runs on: the highest of three runs of
/// about 20 us through a chain of dependent instructions of known latency. Returns 0 on
/// architectures other than x86.
double measure_core_clock();

/// Returns the CPU's name as the CPUID instruction gives it to this process. In some virtual
/// machines (PVM) the kernel sees another name. Empty on architectures without such an instruction.
std::string brand_of_cpu();

/// Returns the facts of the device cpu:0, for the CPUs that this process may use.
DeviceFacts host_facts();

}  // namespace assay::cpu
