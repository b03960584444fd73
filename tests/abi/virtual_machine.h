// A virtual machine with two MI300Xs of 1 GiB: loads and controls its runtime.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <utility>

#include "compute/backends/driver/driver_backend.h"
#include "compute/backends/hip/hip_dialect.h"

namespace assay {

/// Loads the runtime in the layout of one release of ROCm. The functions are those of
/// tests/mi300x/runtime/virtual.h. All tests of one release share compiled kernels, because
/// compiling takes longer than most of them.
class VirtualMachine {
 public:
  explicit VirtualMachine(std::string library_folder) : folder_(std::move(library_folder)) {
    setenv("ASSAY_HIP_LIBRARY", folder_.c_str(), 1);
    setenv("XDG_CACHE_HOME", (folder_ + "/kernel_cache").c_str(), 1);
    setenv("MI300X_MEMORY", "1073741824", 1);
    const auto library = SharedLibrary::open({"virtual", {folder_ + "/libamdhip64.so"}, {""}, ""});
    if (!library) {
      ADD_FAILURE() << library.error().message;
      return;
    }
    library->bind(reset_, {"mi300x_reset"});
    library->bind(fail_next, {"mi300x_fail_next"});
    library->bind(live_objects, {"mi300x_live_objects"});
    library->bind(last_priority, {"mi300x_last_priority"});
    library->bind(last_fault, {"mi300x_last_fault"});
    set("MI300X_DEVICES", "2");
  }
  ~VirtualMachine() {
    for (const char* variable :
         {"ASSAY_HIP_LIBRARY", "MI300X_MEMORY", "MI300X_DEVICES", "MI300X_MODE", "MI300X_VM",
          "MI300X_FAULT", "MI300X_PRODUCT_SECONDS"}) {
      unsetenv(variable);
    }
  }

  /// Changes the machine from now on.
  void set(const char* variable, const std::string& value) const {
    setenv(variable, value.c_str(), 1);
    if (reset_ != nullptr) reset_();
  }
  std::unique_ptr<Backend> backend() const {
    return std::make_unique<driver::DriverBackend>("hip", "runtime", &hip::HipDialect::load);
  }

  void (*fail_next)(const char*, int) = nullptr;
  int (*live_objects)() = nullptr;
  int (*last_priority)() = nullptr;
  const char* (*last_fault)() = nullptr;

 private:
  std::string folder_;
  void (*reset_)() = nullptr;
};

}  // namespace assay
