#include "machine/system/affinity.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace assay {

std::vector<int> affinity_cpus() {
  // The kernel rejects a mask smaller than its own and does not report its size, so several sizes
  // are tried.
  constexpr int least = 8192, most = 1 << 20;
  for (int size = least; size <= most; size *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(static_cast<std::size_t>(size)), [](cpu_set_t* mask) { CPU_FREE(mask); });
    if (set == nullptr) return {};
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
    if (sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      return {};
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < size; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set.get())) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {};
}

std::string cpu_list(const std::vector<int>& cpus) {
  std::string list;
  for (std::size_t first = 0; first < cpus.size(); ++first) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    list += list.empty() ? "" : ",";
    list += first == last ? fmt::format("{}", cpus[first])
                          : fmt::format("{}-{}", cpus[first], cpus[last]);
    first = last;
  }
  return list;
}

bool run_on_cpus(const std::vector<int>& cpus) {
  if (cpus.empty()) return false;
  const int size = *std::max_element(cpus.begin(), cpus.end()) + 1;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
      CPU_ALLOC(static_cast<std::size_t>(size)), [](cpu_set_t* mask) { CPU_FREE(mask); });
  if (set == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
  CPU_ZERO_S(bytes, set.get());
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.get());
  return sched_setaffinity(0, bytes, set.get()) == 0;
}

StayOnCpu::StayOnCpu(int cpu) : before_(affinity_cpus()) {
  if (!run_on_cpus({cpu})) before_.clear();
}

StayOnCpu::~StayOnCpu() {
  run_on_cpus(before_);
}

}  // namespace assay
