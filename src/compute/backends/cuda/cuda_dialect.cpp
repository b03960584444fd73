#include "compute/backends/cuda/cuda_dialect.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "compute/backends/cuda/cuda_libraries.h"
#include "compute/backends/cuda/nvml.h"
#include "compute/device/rtc_compiler.h"
#include "core/bind_functions.h"
#include "core/library_search.h"

namespace assay::cuda {
namespace {

Status bind_driver(const SharedLibrary& library, driver::DriverApi& api) {
  ASSAY_CUDA_DRIVER(ASSAY_BIND)
  return {};
}

Status bind_cuda(const SharedLibrary& library, CudaApi& api) {
  ASSAY_CUDA_ONLY(ASSAY_BIND)
  ASSAY_CUDA_OPTIONAL(ASSAY_BIND_OPTIONAL)
  return {};
}

Status bind_nvrtc(const SharedLibrary& library, RtcApi& api) {
  ASSAY_NVRTC(ASSAY_BIND)
  return {};
}

const RtcVendorRegistry::Add nvrtc({"cuda", "NVRTC", &bind_nvrtc});

/// The TMA moves fp8 and signed bytes like unsigned ones.
int tensor_type(DataType type) {
  switch (type) {
    case DataType::f64:
      return tensor::f64;
    case DataType::f32:
      return tensor::f32;
    case DataType::tf32:
      return tensor::tf32;
    case DataType::f16:
      return tensor::f16;
    case DataType::bf16:
      return tensor::bf16;
    case DataType::i32:
      return tensor::i32;
    case DataType::u32:
      return tensor::u32;
    case DataType::i64:
      return tensor::i64;
    case DataType::u64:
      return tensor::u64;
    default:
      return tensor::u8;
  }
}

/// 13000 -> "13.0"
std::string version_text(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

/// The driver's 16 bytes in nvidia-smi's format.
std::string uuid_text(const unsigned char* bytes, bool slice) {
  std::string text = slice ? "MIG" : "GPU";
  for (int i = 0; i < 16; ++i) {
    text += fmt::format("{}{:02x}", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                        bytes[i]);
  }
  return text;
}

}  // namespace

std::string architecture_option(const std::string& arch, const std::string& version) {
  const bool specific = arch.starts_with("sm_") && std::atoi(arch.c_str() + 3) >= 90 &&
                        std::atoi(version.c_str()) >= 12;
  return "--gpu-architecture=" + arch + (specific ? "a" : "");
}

Result<std::unique_ptr<driver::Dialect>> CudaDialect::load() {
  SharedLibrary library = TRY(SharedLibrary::open(driver_candidates()));
  std::unique_ptr<CudaDialect> dialect(new CudaDialect(std::move(library)));
  TRY(bind_driver(dialect->library_, dialect->api_));
  TRY(bind_cuda(dialect->library_, dialect->cuda_));
  return std::unique_ptr<driver::Dialect>(std::move(dialect));
}

CudaDialect::~CudaDialect() {
  for (std::size_t ordinal = 0; ordinal < contexts_.size(); ++ordinal) {
    int device = 0;
    if (contexts_[ordinal] != nullptr && api_.device(&device, static_cast<int>(ordinal)) == 0) {
      cuda_.context_release(device);
    }
  }
}

driver::Code CudaDialect::context(int ordinal, ContextObject** context) {
  const MutexLock lock(mutex_);
  const auto index = static_cast<std::size_t>(ordinal);
  if (index >= contexts_.size()) contexts_.resize(index + 1, nullptr);
  if (contexts_[index] == nullptr) {
    int device = 0;
    driver::Code result = api_.device(&device, ordinal);
    if (result == driver::code::success) {
      result = cuda_.context_retain(&contexts_[index], device);
    }
    if (result != driver::code::success) {
      contexts_[index] = nullptr;
      return result;
    }
  }
  *context = contexts_[index];
  return driver::code::success;
}

driver::Code CudaDialect::make_current(int ordinal) {
  ContextObject* mine = nullptr;
  const driver::Code result = context(ordinal, &mine);
  return result == driver::code::success ? cuda_.context_set(mine) : result;
}

driver::Code CudaDialect::copy(void* to, const void* from, std::size_t bytes,
                               driver::StreamObject* stream) {
  return cuda_.copy(to, from, bytes, stream);
}

driver::Code CudaDialect::copy_peer(void* to, int to_ordinal, const void* from, int from_ordinal,
                                    std::size_t bytes, driver::StreamObject* stream) {
  ContextObject *to_context = nullptr, *from_context = nullptr;
  driver::Code result = context(to_ordinal, &to_context);
  if (result == driver::code::success) result = context(from_ordinal, &from_context);
  if (result != driver::code::success) return result;
  return cuda_.copy_peer(to, to_context, from, from_context, bytes, stream);
}

driver::Code CudaDialect::enable_peer(int peer_ordinal) {
  ContextObject* peer = nullptr;
  const driver::Code result = context(peer_ordinal, &peer);
  return result == driver::code::success ? cuda_.enable_peer(peer, 0) : result;
}

driver::Code CudaDialect::instantiate(driver::GraphExecObject** exec, driver::GraphObject* graph) {
  return cuda_.instantiate(exec, graph, 0);
}

driver::Code CudaDialect::export_dmabuf(int* file, std::uint64_t* offset, void* address,
                                        std::size_t bytes) {
  if (cuda_.range_handle == nullptr) return driver::code::not_supported;
  *offset = 0;
  return cuda_.range_handle(file, address, bytes, range_handle_dmabuf, 0);
}

driver::Code CudaDialect::allow_dynamic_shared(driver::FunctionObject* function, int bytes) {
  return cuda_.set_function_attribute(function, function_attribute_max_dynamic_shared_bytes, bytes);
}

driver::Abilities CudaDialect::abilities(int ordinal) {
  int device = 0;
  if (api_.device(&device, ordinal) != driver::code::success) return {};
  const auto attribute = [&](int number) {
    int value = 0;
    return api_.device_attribute(&value, number, device) == driver::code::success ? value : 0;
  };
  driver::Abilities able;
  able.clusters = cuda_.launch != nullptr && attribute(attribute_cluster_launch) != 0;
  able.programmatic_launch = cuda_.launch != nullptr && attribute(attribute_capability_major) >= 9;
  able.tensor_maps = cuda_.encode_tiled != nullptr && attribute(attribute_tensor_map_access) != 0;
  return able;
}

driver::Code CudaDialect::launch(driver::FunctionObject* function, const LaunchShape& shape,
                                 const LaunchAttributes& attributes, driver::StreamObject* stream,
                                 void** arguments) {
  LaunchAttribute asked[2];
  unsigned count = 0;
  if (has_clusters(attributes.cluster)) {
    const Dim3& cluster = attributes.cluster;
    asked[count++] = {launch_cluster_dimension, {cluster.x, cluster.y, cluster.z}};
  }
  if (attributes.programmatic) asked[count++] = {launch_programmatic_serialization, {1}};
  const LaunchConfig config = {{shape.grid.x, shape.grid.y, shape.grid.z},
                               {shape.block.x, shape.block.y, shape.block.z},
                               shape.dynamic_shared_bytes,
                               stream,
                               asked,
                               count};
  return cuda_.launch(&config, function, arguments, nullptr);
}

driver::Code CudaDialect::encode(TensorMap& map, const TensorLayout& layout) {
  std::uint64_t sizes[5] = {}, strides[4] = {};  // dimension 0 is dense and has no stride
  std::uint32_t box[5] = {};
  constexpr std::uint32_t steps[5] = {1, 1, 1, 1, 1};
  const auto rank = static_cast<std::uint32_t>(layout.dimensions.size());
  for (std::uint32_t i = 0; i < rank; ++i) {
    sizes[i] = layout.dimensions[i].size;
    box[i] = layout.dimensions[i].box;
    if (i > 0) strides[i - 1] = layout.dimensions[i].stride_bytes;
  }
  return cuda_.encode_tiled(&map, tensor_type(layout.type), rank, const_cast<void*>(layout.address),
                            sizes, strides, box, steps, no_interleave,
                            static_cast<int>(layout.swizzle), l2_promotion(layout.l2_bytes),
                            zeros_outside);
}

std::string CudaDialect::describe(driver::Code code) const {
  const char *name = nullptr, *text = nullptr;
  if (cuda_.error_name(code, &name) != 0 || name == nullptr) {
    return fmt::format("CUDA error {}", code);
  }
  if (cuda_.error_text(code, &text) != 0 || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

std::string CudaDialect::no_device_hint() const {
  if (::access("/dev/dxg", F_OK) == 0) return {};  // WSL has no NVIDIA device files
  if (::access("/dev/nvidiactl", F_OK) != 0) {
    return "/dev/nvidiactl is missing: is the nvidia kernel module loaded, or the GPU not passed "
           "to the container (--gpus all)?";
  }
  if (::access("/dev/nvidiactl", R_OK | W_OK) != 0) {
    return "this user cannot open /dev/nvidiactl";
  }
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    return fmt::format("CUDA_VISIBLE_DEVICES is \"{}\"", visible);
  }
  return {};
}

std::vector<LibraryFact> CudaDialect::libraries() {
  int version = 0;
  std::vector<LibraryFact> facts = {{"driver", library_.path(), "", ""}};
  if (api_.version(&version) == driver::code::success) facts[0].version = version_text(version);
  const auto& management = Nvml::shared();
  facts.push_back(management ? LibraryFact{"management", management.value()->path(),
                                           management.value()->driver_version(), ""}
                             : LibraryFact{"management", "", "", management.error().message});
  return facts;
}

void CudaDialect::complete(DeviceFacts& facts, int device) {
  int major = 0, minor = 0;
  if (api_.device_attribute(&major, attribute_capability_major, device) == 0 &&
      api_.device_attribute(&minor, attribute_capability_minor, device) == 0) {
    facts.arch = fmt::format("sm_{}{}", major, minor);
  }
  // "NVIDIA H200 MIG 1g.18gb": the only place where a call without a context shows the slice.
  const std::size_t slice = facts.name.find("MIG ");
  if (slice != std::string::npos) facts.partition = facts.name.substr(slice);
  unsigned char uuid[16] = {};
  if (api_.device_uuid(uuid, device) == 0) facts.uuid = uuid_text(uuid, !facts.partition.empty());
}

SensorReading CudaDialect::sense(const DeviceFacts& facts) {
  const auto& management = Nvml::shared();
  return management ? management.value()->sense(facts.pci) : SensorReading();
}

Result<driver::RtcTool> CudaDialect::rtc() {
  const MutexLock lock(mutex_);
  if (rtc_) return *rtc_;
  int driver_version = 0;
  api_.version(&driver_version);
  const SharedLibrary library = TRY(SharedLibrary::open(nvrtc_candidates(driver_version)));
  RtcApi api{};
  TRY(bind_nvrtc(library, api));
  int major = 0, minor = 0;
  api.version(&major, &minor);
  preload_nvrtc_builtins(library.path(), major, minor);
  rtc_ = driver::RtcTool{library.path(), fmt::format("{}.{}", major, minor),
                         file_identity(library.path())};
  return *rtc_;
}

std::vector<std::string> CudaDialect::compile_options(const std::string& arch,
                                                      const driver::RtcTool& tool) const {
  return {architecture_option(arch, tool.version), "--std=c++17"};
}

Result<std::string> CudaDialect::compile(const std::string& name, const std::string& source,
                                         const std::vector<std::string>& options) {
  const driver::RtcTool tool = TRY(rtc());
  return rtc_compile({tool.path, "cuda", name, source, options});
}

}  // namespace assay::cuda
