// HIP's modules, functions and launches: code objects run on the emulator.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/handles.h"
#include "runtime/memory.h"
#include "runtime/stream.h"

using namespace mi300x::runtime;

struct ihipModule_t {
  std::shared_ptr<mi300x::Module> code;
  std::map<std::string, ihipModuleSymbol_t*> functions;
  ~ihipModule_t();
};
struct ihipModuleSymbol_t {
  std::shared_ptr<mi300x::Module> code;
  const mi300x::KernelInfo& info;
};

ihipModule_t::~ihipModule_t() {
  for (const auto& [name, function] : functions) {
    Handles<ihipModuleSymbol_t>::instance().take(function);
  }
}

namespace {

// ---- Images ----

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr unsigned gfx942_machine = 0x4c;

/// Returns the code object for these devices in a bundle; empty if it has none.
std::string_view from_bundle(const char* image) {
  const auto word = [&](std::size_t offset) {
    std::uint64_t value;
    std::memcpy(&value, image + offset, sizeof value);
    return value;
  };
  std::size_t at = bundle_magic.size() + 8;
  for (std::uint64_t left = word(bundle_magic.size()); left > 0; --left) {
    const std::uint64_t offset = word(at), bytes = word(at + 8), name_bytes = word(at + 16);
    const std::string_view target(image + at + 24, name_bytes);
    if (target.find("amdgcn") != target.npos && target.find("gfx942") != target.npos) {
      return {image + offset, bytes};
    }
    at += 24 + name_bytes;
  }
  return {};
}

/// Returns the whole file at `image`; it ends where its section table ends.
hipError_t read_image(const char* image, std::string_view* file) {
  if (std::string_view(image, bundle_magic.size()) == bundle_magic) {
    *file = from_bundle(image);
    if (file->empty()) return hipErrorNoBinaryForGpu;
    image = file->data();
  }
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return hipErrorInvalidImage;
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  constexpr unsigned amd_gpu = 224;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != amd_gpu) {
    return hipErrorInvalidImage;
  }
  if ((header.e_flags & 0xFF) != gfx942_machine) return hipErrorNoBinaryForGpu;
  *file = {image, header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum};
  return hipSuccess;
}

// ---- Launches ----

/// Collects the explicit arguments in their memory layout, from one pointer per argument or from
/// one buffer.
hipError_t arguments_of(const mi300x::KernelInfo& kernel, void** values, void** extra,
                        std::vector<char>* out) {
  std::size_t end = 0;
  std::vector<const mi300x::KernelInfo::Argument*> all;
  for (const auto& argument : kernel.arguments) {
    if (argument.kind.starts_with("hidden_")) continue;
    all.push_back(&argument);
    end = std::max<std::size_t>(end, argument.offset + argument.bytes);
  }
  out->assign(end, 0);
  if (extra != nullptr) {
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (; *extra != HIP_LAUNCH_PARAM_END; extra += 2) {
      if (*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
      if (*extra == HIP_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<std::size_t*>(extra[1]);
    }
    if (values != nullptr || buffer == nullptr || bytes < end) return hipErrorInvalidValue;
    std::memcpy(out->data(), buffer, end);
    return hipSuccess;
  }
  if (values == nullptr && !all.empty()) return hipErrorInvalidValue;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::memcpy(out->data() + all[i]->offset, values[i], all[i]->bytes);
  }
  return hipSuccess;
}

/// Checks whether the device supports the launch.
hipError_t check_shape(const mi300x::KernelInfo& kernel, const mi300x::Launch& launch) {
  const auto product = [](const mi300x::Dimensions& d) { return std::uint64_t{d.x} * d.y * d.z; };
  const std::uint64_t threads = product(launch.block);
  if (product(launch.grid) == 0 || threads == 0) return hipErrorInvalidValue;
  if (threads > threads_per_block) {
    return hip_release >= 7 ? hipErrorInvalidConfiguration : hipErrorInvalidValue;
  }
  if (threads > static_cast<std::uint64_t>(kernel.max_threads)) return hipErrorLaunchFailure;
  if (kernel.shared_bytes + std::uint64_t{launch.dynamic_shared_bytes} > shared_bytes) {
    return hipErrorInvalidValue;
  }
  const std::uint64_t most = std::uint64_t{1} << 32;  // work items, in each direction
  const bool fits = std::uint64_t{launch.grid.x} * launch.block.x < most &&
                    std::uint64_t{launch.grid.y} * launch.block.y < most &&
                    std::uint64_t{launch.grid.z} * launch.block.z < most;
  return fits ? hipSuccess : hipErrorInvalidConfiguration;
}

double execute(Device& device, const mi300x::Launch& launch, double start) {
  const Runtime& runtime = Runtime::instance();
  if (!device.begin_launch()) return start;
  while (runtime.injection.hangs(launch.kernel) && !runtime.ending) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  mi300x::Corruption& corruption = mi300x::Corruption::instance();
  if (corruption.concerns(launch.kernel)) {
    corruption.begin_launch(corruption.keeps_memory() ? Memory::instance().copy_of_devices()
                                                      : std::vector<mi300x::StaleMemory::Piece>());
  }
  mi300x::Chip chip = device.chip;
  chip.start_nanoseconds = static_cast<std::uint64_t>(1e9 * start);
  const auto stopped = [&] { return runtime.ending.load(); };
  return start + mi300x::run(launch, chip, mi300x::default_settings(), stopped).seconds;
}

hipError_t launch_kernel(hipFunction_t handle, mi300x::Dimensions grid, mi300x::Dimensions block,
                         unsigned dynamic_bytes, hipStream_t stream_handle, void** values,
                         void** extra) {
  const auto function = Handles<ihipModuleSymbol_t>::instance().find(handle);
  if (!function) return hipErrorInvalidHandle;
  const auto stream = stream_of(stream_handle);
  if (!stream) return hipErrorInvalidHandle;
  mi300x::Launch launch;
  launch.module = function->code;
  launch.kernel = function->info.name;
  launch.grid = grid;
  launch.block = block;
  launch.dynamic_shared_bytes = dynamic_bytes;
  if (const hipError_t error = check_shape(function->info, launch)) return error;
  if (const hipError_t error = arguments_of(function->info, values, extra, &launch.arguments)) {
    return error;
  }
  return submit(stream_handle, [&device = stream->device, launch](double start) {
    return execute(device, launch, start);
  });
}

/// Returns the resident workgroups per compute unit, limited by registers, LDS, waves and barriers.
/// LDS is allocated in granules of 512 bytes, which the runtime's own query ignores.
int occupancy(const mi300x::KernelInfo& kernel, int threads, std::size_t dynamic_bytes,
              std::size_t lds_granule) {
  constexpr int simds = 4, most_waves = 8, registers = 512, granule = 8;
  const int waves = (threads + 63) / 64;
  const int granted =
      std::max(granule, (kernel.vector_registers + granule - 1) / granule * granule);
  int groups = simds * std::min(most_waves, registers / granted) / waves;
  groups = std::min(groups, waves > 1 ? 16 : 32);
  const std::size_t lds = kernel.shared_bytes + dynamic_bytes;
  if (lds > 0) {
    const std::size_t rounded = (lds + lds_granule - 1) / lds_granule * lds_granule;
    groups = std::min(groups, static_cast<int>(shared_bytes / rounded));
  }
  return groups;
}

}  // namespace

extern "C" {

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return device_call(__func__, [&] {
    if (module == nullptr || image == nullptr) return hipErrorInvalidValue;
    std::string_view file;
    if (const hipError_t error = read_image(static_cast<const char*>(image), &file)) return error;
    auto made = std::make_shared<ihipModule_t>();
    try {
      made->code = mi300x::Module::load(file, Runtime::instance().current().chip.arch);
    } catch (const mi300x::Fault& fault) {
      Runtime::instance().note_fault(fault.what());
      return hipErrorInvalidImage;
    }
    *module = Handles<ihipModule_t>::instance().add(std::move(made));
    return hipSuccess;
  });
}

hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, hipJitOption*,
                               void**) {
  return hipModuleLoadData(module, image);
}

hipError_t hipModuleUnload(hipModule_t module) {
  return call(__func__, [&] {
    return Handles<ihipModule_t>::instance().take(module) ? hipSuccess : hipErrorInvalidHandle;
  });
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t handle, const char* name) {
  return device_call(__func__, [&] {
    const auto module = Handles<ihipModule_t>::instance().find(handle);
    if (!module) return hipErrorInvalidHandle;
    if (function == nullptr || name == nullptr) return hipErrorInvalidValue;
    const mi300x::KernelInfo* info = module->code->kernel(name);
    if (info == nullptr) return hipErrorNotFound;
    ihipModuleSymbol_t*& known = module->functions[name];
    if (known == nullptr) {
      known = Handles<ihipModuleSymbol_t>::instance().add(
          std::make_shared<ihipModuleSymbol_t>(ihipModuleSymbol_t{module->code, *info}));
    }
    *function = known;
    return hipSuccess;
  });
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* bytes, hipModule_t handle,
                              const char* name) {
  return device_call(__func__, [&] {
    const auto module = Handles<ihipModule_t>::instance().find(handle);
    if (!module || name == nullptr) return hipErrorInvalidValue;
    std::size_t size = 0;
    void* const variable = module->code->variable(name, &size);
    if (variable == nullptr) return hipErrorNotFound;
    if (address != nullptr) *address = variable;
    if (bytes != nullptr) *bytes = size;
    return hipSuccess;
  });
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t handle) {
  return device_call(__func__, [&] {
    const auto function = Handles<ihipModuleSymbol_t>::instance().find(handle);
    if (!function) return hipErrorInvalidHandle;
    if (value == nullptr) return hipErrorInvalidValue;
    const mi300x::KernelInfo& info = function->info;
    switch (attribute) {
      case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = info.max_threads;
        break;
      case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = static_cast<int>(info.shared_bytes);
        break;
      case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = static_cast<int>(info.scratch_bytes);
        break;
      case HIP_FUNC_ATTRIBUTE_NUM_REGS:
        *value = info.vector_registers;
        break;
      case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = shared_bytes - static_cast<int>(info.shared_bytes);
        break;
      default:
        return hipErrorInvalidValue;
    }
    return hipSuccess;
  });
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t handle,
                                                              int threads, size_t dynamic_bytes) {
  return device_call(__func__, [&] {
    const auto function = Handles<ihipModuleSymbol_t>::instance().find(handle);
    if (!function) return hipErrorInvalidHandle;
    if (blocks == nullptr || threads <= 0 || threads > threads_per_block) {
      return hipErrorInvalidValue;
    }
    *blocks = occupancy(function->info, threads, dynamic_bytes, 1);
    return hipSuccess;
  });
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned dynamic_bytes, hipStream_t stream,
                                 void** values, void** extra) {
  return call(__func__, [&] {
    return launch_kernel(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                         dynamic_bytes, stream, values, extra);
  });
}

/// All workgroups of a cooperative launch must be resident at once.
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t handle, unsigned grid_x, unsigned grid_y,
                                            unsigned grid_z, unsigned block_x, unsigned block_y,
                                            unsigned block_z, unsigned dynamic_bytes,
                                            hipStream_t stream_handle, void** values) {
  return call(__func__, [&] {
    const auto function = Handles<ihipModuleSymbol_t>::instance().find(handle);
    const auto stream = stream_of(stream_handle);
    if (!function || !stream) return hipErrorInvalidHandle;
    const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
    if (threads == 0 || threads > threads_per_block) return hipErrorInvalidValue;
    const int resident = occupancy(function->info, static_cast<int>(threads), dynamic_bytes, 512) *
                         stream->device.chip.compute_units;
    if (std::uint64_t{grid_x} * grid_y * grid_z > static_cast<std::uint64_t>(resident)) {
      return hipErrorCooperativeLaunchTooLarge;
    }
    return launch_kernel(handle, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                         dynamic_bytes, stream_handle, values, nullptr);
  });
}

}  // extern "C"
