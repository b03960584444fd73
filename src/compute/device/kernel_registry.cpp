#include "compute/device/kernel_registry.h"

#include <sched.h>

#include <cstring>
#include <ctime>

namespace assay::cpu {

constinit thread_local BlockContext current_block = {0, 0, 0, 1, 1, 1, nullptr};
constinit const KernelEntry* kernel_entries = nullptr;

AddKernel::AddKernel(KernelEntry& entry) {
  entry.next = kernel_entries;
  kernel_entries = &entry;
}

const KernelEntry* find_kernel(const char* file, const char* name, const char* variant) {
  const KernelEntry* entry = kernel_entries;
  while (entry != nullptr &&
         (std::strcmp(entry->file, file) != 0 || std::strcmp(entry->name, name) != 0 ||
          (variant != nullptr && std::strcmp(entry->variant, variant) != 0))) {
    entry = entry->next;
  }
  return entry;
}

unsigned long long monotonic_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1000000000ull +
         static_cast<unsigned long long>(now.tv_nsec);
}

void yield() {
  ::sched_yield();
}

}  // namespace assay::cpu
