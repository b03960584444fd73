#include "compute/backends/driver/driver_program.h"

#include <fmt/format.h>

#include "compute/device/kernel_registry.h"
#include "compute/device/kernel_source.h"
#include "core/hash.h"

namespace assay::driver {

Result<KernelResources> DriverKernel::resources() const {
  KernelResources resources;
  const std::pair<int, int*> wanted[] = {
      {function_attribute::max_threads_per_block, &resources.max_threads_per_block},
      {function_attribute::shared_bytes, &resources.static_shared_bytes},
      {function_attribute::local_bytes, &resources.local_bytes},
      {function_attribute::registers, &resources.registers}};
  for (const auto& [attribute, value] : wanted) {
    PLACE_TRY(place_, place_.api().function_attribute(value, attribute, function_),
              fmt::format("reading the resources of {}", name_));
  }
  return resources;
}

Result<int> DriverKernel::blocks_per_multiprocessor(int block_threads,
                                                    unsigned dynamic_shared_bytes) const {
  int blocks = 0;
  PLACE_TRY(place_, place_.api().occupancy(&blocks, function_, block_threads, dynamic_shared_bytes),
            fmt::format("querying the occupancy of {} with {} threads", name_, block_threads));
  return blocks;
}

Status DriverKernel::allow_dynamic_shared(unsigned bytes) {
  const KernelResources used = TRY(resources());
  const std::uint64_t asked = std::uint64_t{bytes} + used.static_shared_bytes;
  if (asked > facts_.shared_bytes_per_block) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{}:{}: {} requests {} bytes of shared memory per block ({} of them "
                             "static); the device has {}",
                             facts_.backend, facts_.ordinal, name_, asked, used.static_shared_bytes,
                             facts_.shared_bytes_per_block)};
  }
  PLACE_TRY(place_, place_.dialect().allow_dynamic_shared(function_, static_cast<int>(bytes)),
            fmt::format("allowing {} bytes of dynamic shared memory for {}", bytes, name_));
  return {};
}

Result<std::unique_ptr<Program>> DriverProgram::build(const Place& place, const DeviceFacts& facts,
                                                      const ProgramSource& source,
                                                      const KernelCache& cache) {
  Dialect& dialect = place.dialect();
  const std::string text = TRY(complete_source(source.name));
  const RtcTool tool = TRY(dialect.rtc());
  std::vector<std::string> options = dialect.compile_options(facts.arch, tool);
  for (const auto& [name, value] : source.defines) {
    options.push_back(fmt::format("-D{}={}", name, value));
  }
  std::vector<std::string> parts = {std::string(dialect.backend()), facts.arch, tool.identity,
                                    text};
  parts.insert(parts.end(), options.begin(), options.end());
  const std::string key = hash_of_parts(parts);

  const auto load = [&](const std::string& code, ModuleObject** module) {
    const Code current = place.activate();
    return current != code::success ? current : place.api().module_load(module, code.c_str());
  };
  ModuleObject* module = nullptr;
  const std::optional<std::string> cached = cache.load(key);
  // If the driver rejects cached code, compile it again.
  if (!cached || load(*cached, &module) != code::success) {
    const std::string code = TRY(dialect.compile(source.name + ".cu", text, options));
    PLACE_TRY(place, load(code, &module), fmt::format("loading the code of {}.cu", source.name));
    cache.store(key, code);
  }
  return std::unique_ptr<Program>(
      new DriverProgram(place, facts, source.name + ".cu", true, module));
}

Result<std::unique_ptr<Program>> DriverProgram::load(const Place& place, const DeviceFacts& facts,
                                                     const std::string& name,
                                                     const std::string& code) {
  ModuleObject* module = nullptr;
  PLACE_TRY(place, place.api().module_load(&module, code.data()), "loading " + name);
  return std::unique_ptr<Program>(new DriverProgram(place, facts, name, false, module));
}

DriverProgram::~DriverProgram() {
  if (place_.activate() == code::success) place_.api().module_unload(module_);
}

Result<Kernel*> DriverProgram::kernel(std::string_view name) {
  const auto known = kernels_.find(name);
  if (known != kernels_.end()) return static_cast<Kernel*>(known->second.get());
  FunctionObject* function = nullptr;
  const std::string text(name);
  std::span<const unsigned> parameters;
  if (own_) {
    const cpu::KernelEntry* registered = cpu::find_kernel(name_.c_str(), text.c_str(), nullptr);
    if (registered == nullptr) {
      return Error{ErrorKind::failed, name_ + ": no kernel named " + text};
    }
    parameters = std::span(registered->argument_bytes, registered->arguments);
  }
  PLACE_TRY(place_, place_.api().module_function(&function, module_, text.c_str()),
            fmt::format("looking for kernel {} in {}", text, name_));
  auto made = std::make_unique<DriverKernel>(place_, facts_, text, function, parameters);
  return static_cast<Kernel*>(kernels_.emplace(text, std::move(made)).first->second.get());
}

}  // namespace assay::driver
