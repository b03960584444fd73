#include "compute/device/kernel_registry.h"

#include <ctime>

namespace assay::cpu {

constinit thread_local BlockContext current_block = {0, 0, 0, 1, 1, 1, nullptr};
constinit const KernelEntry* kernel_entries = nullptr;

AddKernel::AddKernel(KernelEntry& entry) {
  entry.next = kernel_entries;
  kernel_entries = &entry;
}

unsigned long long monotonic_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1000000000ull +
         static_cast<unsigned long long>(now.tv_nsec);
}

}  // namespace assay::cpu
