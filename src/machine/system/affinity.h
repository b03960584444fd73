// The CPUs this process may run on.
#pragma once

#include <string>
#include <vector>

namespace assay {

/// CPUs of this process's affinity mask, ascending; empty if the kernel does not say.
std::vector<int> affinity_cpus();

/// "0-3,8" of ascending numbers, as the kernel writes lists.
std::string cpu_list(const std::vector<int>& cpus);

}  // namespace assay
