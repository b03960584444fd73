// A cell of the benchmark `peer` on the CPU: transfers from one core to another.
#pragma once

#include <vector>

#include "machine/system/machine.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// The CPUs that represent the machine, as indices into `cpus`, which holds the kernel's numbers of
/// CPUs: all if there are at most 16; otherwise the first of each NUMA node and each L3 cache, and
/// the second CPU.
std::vector<int> representative_cores(const Machine& machine, const std::vector<int>& cpus);

/// `cpus`: the CPUs this process may run on, ascending; `from` and `to` are indices into it. Error:
/// as from the device's calls.
Result<std::unique_ptr<Case>> prepare_core_pair(const Cell& cell, PrepareContext context,
                                                const std::vector<int>& cpus);

}  // namespace assay
