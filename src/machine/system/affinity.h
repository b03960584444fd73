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

/// While it lives, the thread that made it runs on one CPU only; then again on those where it could
/// run before. That thread must also destroy it; if it made several, the last one first. Where
/// the kernel refuses, nothing changes.
class StayOnCpu {
 public:
  explicit StayOnCpu(int cpu);
  ~StayOnCpu();
  StayOnCpu(const StayOnCpu&) = delete;
  StayOnCpu& operator=(const StayOnCpu&) = delete;

 private:
  std::vector<int> before_;  // empty: nothing to restore
};

/// Restricts the calling thread to `cpus`; returns whether the kernel did so.
bool run_on_cpus(const std::vector<int>& cpus);

}  // namespace assay
