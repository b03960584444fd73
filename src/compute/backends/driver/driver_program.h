// Kernels compiled at run time and loaded as a module.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compute/backends/driver/place.h"
#include "compute/device/device.h"
#include "compute/device/kernel_cache.h"

namespace assay::driver {

class DriverKernel : public Kernel {
 public:
  DriverKernel(const Place& place, const DeviceFacts& facts, std::string name,
               FunctionObject* function, std::span<const unsigned> parameter_bytes)
      : Kernel(parameter_bytes),
        place_(place),
        facts_(facts),
        name_(std::move(name)),
        function_(function) {}

  Result<KernelResources> resources() const override;
  Result<int> blocks_per_multiprocessor(int block_threads,
                                        unsigned dynamic_shared_bytes) const override;
  Status allow_dynamic_shared(unsigned bytes) override;

  const std::string& name() const { return name_; }
  FunctionObject* object() const { return function_; }

 private:
  const Place& place_;
  const DeviceFacts& facts_;
  std::string name_;
  FunctionObject* function_;
};

class DriverProgram : public Program {
 public:
  /// Compiles `source`, or takes its code from `cache`, and loads it. `place` and `facts` must
  /// outlive the program. Error: as complete_source() (compute/device/kernel_source.h),
  /// Dialect::rtc(), Dialect::compile() and Place::error().
  static Result<std::unique_ptr<Program>> build(const Place& place, const DeviceFacts& facts,
                                                const ProgramSource& source,
                                                const KernelCache& cache);
  /// Loads an ELF file compiled elsewhere; `name` is for messages. Error: as Place::error().
  static Result<std::unique_ptr<Program>> load(const Place& place, const DeviceFacts& facts,
                                               const std::string& name, const std::string& code);
  ~DriverProgram() override;

  Result<Kernel*> kernel(std::string_view name) override;

 private:
  DriverProgram(const Place& place, const DeviceFacts& facts, std::string name, bool own,
                ModuleObject* module)
      : place_(place), facts_(facts), name_(std::move(name)), own_(own), module_(module) {}

  const Place& place_;
  const DeviceFacts& facts_;
  std::string name_;  // the source file's name ("memory.cu"), or the name given to load()
  bool own_;          // compiled from a kernel file of assay, so find_kernel() knows its parameters
  ModuleObject* module_;
  std::map<std::string, std::unique_ptr<DriverKernel>, std::less<>> kernels_;
};

}  // namespace assay::driver
