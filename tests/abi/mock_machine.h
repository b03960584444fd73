// A machine with AMD GPUs made of the mock runtime, whose kernels are our CPU build of them.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <memory>
#include <string>

#include "backends/cpu/kernel_registry.h"
#include "backends/driver/driver_backend.h"
#include "backends/hip/hip_dialect.h"
#include "mock_hip/mock_hip.h"
#include "temporary_folder.h"

namespace assay {

/// The build of a kernel that every machine of this architecture runs.
inline bool find_cpu_kernel(const char* name, MockKernel* kernel) {
  for (const cpu::KernelEntry* entry = cpu::kernel_entries; entry != nullptr; entry = entry->next) {
    const bool baseline = std::strcmp(entry->variant, "x86_64_v2") == 0 ||
                          std::strcmp(entry->variant, "generic") == 0;
    if (!baseline || std::strcmp(entry->name, name) != 0) continue;
    *kernel = {entry, entry->argument_bytes, entry->arguments};
    return true;
  }
  return false;
}

inline void run_cpu_kernel(const void* entry, const unsigned grid[3], const unsigned[3],
                           void* const* arguments) {
  for (unsigned y = 0; y < grid[1]; ++y) {
    for (unsigned x = 0; x < grid[0]; ++x) {
      cpu::current_block = {x, y, 0, grid[0], grid[1], grid[2], nullptr};
      static_cast<const cpu::KernelEntry*>(entry)->invoke(arguments);
    }
  }
}

/// Loads the mock in the layout of ROCm `release` and controls it.
class MockMachine {
 public:
  MockMachine(const std::string& library_folder, const std::string& cache_folder)
      : folder_(library_folder) {
    setenv("ASSAY_HIP_LIBRARY", folder_.c_str(), 1);
    setenv("XDG_CACHE_HOME", cache_folder.c_str(), 1);
    const auto library = SharedLibrary::open({"mock", {folder_ + "/libamdhip64.so"}, {""}, ""});
    if (!library) {
      ADD_FAILURE() << library.error().message;
      return;
    }
    library->bind(set_kernels, {"mock_hip_set_kernels"});
    library->bind(set_device_count, {"mock_hip_set_device_count"});
    library->bind(fail_next, {"mock_hip_fail_next"});
    library->bind(live_objects, {"mock_hip_live_objects"});
    library->bind(last_priority, {"mock_hip_last_priority"});
    set_kernels({&find_cpu_kernel, &run_cpu_kernel});
    set_device_count(2);
  }
  ~MockMachine() { unsetenv("ASSAY_HIP_LIBRARY"); }

  std::unique_ptr<Backend> backend() const {
    return std::make_unique<driver::DriverBackend>("hip", "runtime", &hip::HipDialect::load);
  }
  std::string library() const { return folder_ + "/libamdhip64.so"; }

  void (*set_kernels)(MockKernels) = nullptr;
  void (*set_device_count)(int) = nullptr;
  void (*fail_next)(const char*, int) = nullptr;
  int (*live_objects)() = nullptr;
  int (*last_priority)() = nullptr;

 private:
  std::string folder_;
};

}  // namespace assay
