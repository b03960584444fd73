// A cell of the benchmark `peer` on the CPU: what goes from one core to another.
#pragma once

#include <vector>

#include "machine/system/machine.h"
#include "measure/benchmarks/benchmark.h"

namespace assay {

/// Which of `cpus` (kernel numbers) stand for the machine, as indices into it: all of a few, else
/// the first of each NUMA node and of each last-level cache, and a neighbour of the first.
std::vector<int> representative_cores(const Machine& machine, const std::vector<int>& cpus);

/// The CPUs that the numbers of `from` and `to` stand for: those this process may run on,
/// ascending. Error: as the device's calls.
Result<std::unique_ptr<Case>> prepare_core_pair(const Cell& cell, PrepareContext context,
                                                const std::vector<int>& cpus);

}  // namespace assay
