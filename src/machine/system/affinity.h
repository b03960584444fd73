// The CPUs this process may run on.
#pragma once

#include <string>
#include <vector>

namespace assay {

/// Returns the CPUs in this process's affinity mask, ascending; empty if the kernel does not report
/// them.
std::vector<int> affinity_cpus();

/// Formats ascending numbers as a kernel CPU list: "0-3,8".
std::string cpu_list(const std::vector<int>& cpus);

}  // namespace assay
