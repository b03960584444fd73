#include "compute/backends/hip/hip_dialect.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "compute/backends/hip/hip_arch.h"
#include "compute/backends/hip/hip_libraries.h"
#include "compute/device/rtc_compiler.h"
#include "core/bind_functions.h"
#include "core/library_search.h"
#include "machine/system/amdgpu_sysfs.h"

namespace assay::hip {
namespace {

Status bind_driver(const SharedLibrary& library, driver::DriverApi& api) {
  ASSAY_HIP_DRIVER(ASSAY_BIND)
  ASSAY_HIP_DRIVER_OPTIONAL(ASSAY_BIND_OPTIONAL)
  ASSAY_HIP_DRIVER_YOUNG(ASSAY_BIND_OPTIONAL)
  return {};
}

Status bind_hip(const SharedLibrary& library, HipApi& api) {
  ASSAY_HIP_ONLY(ASSAY_BIND)
  return {};
}

Status bind_hiprtc(const SharedLibrary& library, RtcApi& api) {
  ASSAY_HIPRTC(ASSAY_BIND)
  return {};
}

const RtcVendorRegistry::Add hiprtc({"hip", "hipRTC", &bind_hiprtc});

/// 50221153 -> "5.2.21153"
std::string version_text(int number) {
  return fmt::format("{}.{}.{}", number / 10'000'000, number / 100'000 % 100, number % 100'000);
}

}  // namespace

Result<std::unique_ptr<driver::Dialect>> HipDialect::load() {
  SharedLibrary library = TRY(SharedLibrary::open(runtime_candidates()));
  std::unique_ptr<HipDialect> dialect(new HipDialect(std::move(library)));
  TRY(bind_driver(dialect->library_, dialect->api_));
  TRY(bind_hip(dialect->library_, dialect->hip_));
  return std::unique_ptr<driver::Dialect>(std::move(dialect));
}

driver::Code HipDialect::export_dmabuf(int* file, std::uint64_t* offset, void* address,
                                       std::size_t bytes) {
  const auto hsa = open_hsa(library_);
  int (*export_memory)(const void* address, std::size_t bytes, int* file, std::uint64_t* offset) =
      nullptr;
  if (!hsa || !hsa->bind(export_memory, {"hsa_amd_portable_export_dmabuf"})) {
    return driver::code::not_supported;
  }
  return export_memory(address, bytes, file, offset) == 0 ? driver::code::success
                                                          : driver::code::unknown;
}

std::string HipDialect::sharing_hint() const {
  constexpr const char* name = "HSA_ENABLE_IPC_MODE_LEGACY";
  const char* const legacy = std::getenv(name);
  if (legacy == nullptr || std::string_view(legacy) == "0") return {};
  return fmt::format(
      "{}={} makes this fail in several releases of ROCm, and images such as vLLM's set it: unset "
      "it, or set it to 0",
      name, legacy);
}

driver::Code HipDialect::record_each_replay(driver::EventObject* event,
                                            driver::StreamObject* stream) {
  if (api_.event_record_with_flags != nullptr) {
    return api_.event_record_with_flags(event, stream, driver::event_record_external);
  }
  // What that function does inside HIP: a node behind the last ones, and what comes next behind it.
  driver::GraphObject* graph = nullptr;
  driver::GraphNodeObject* const* last = nullptr;
  driver::GraphNodeObject* node = nullptr;
  int status = 0;
  unsigned long long id = 0;
  std::size_t count = 0;
  driver::Code result = hip_.capture_info(stream, &status, &id, &graph, &last, &count);
  if (result != driver::code::success) return result;
  result = hip_.add_event_record(&node, graph, last, count, event);
  if (result != driver::code::success) return result;
  return hip_.capture_continue(stream, &node, 1, capture_set_dependencies);
}

std::string HipDialect::describe(driver::Code code) const {
  const char* name = hip_.error_name(code);
  const char* text = hip_.error_text(code);
  if (name == nullptr) return fmt::format("HIP error {}", code);
  if (text == nullptr || std::strcmp(name, text) == 0) return name;
  return fmt::format("{} ({})", name, text);
}

std::string HipDialect::no_device_hint() const {
  if (::access("/dev/dxg", F_OK) == 0) return {};  // WSL has no AMD device files
  if (::access("/dev/kfd", F_OK) != 0) {
    return "/dev/kfd is missing: is the amdgpu driver loaded, or the GPU not passed to the "
           "container (--device=/dev/kfd --device=/dev/dri)?";
  }
  if (::access("/dev/kfd", R_OK | W_OK) != 0) {
    return "this user cannot open /dev/kfd: add the user to the groups render and video";
  }
  for (const char* variable :
       {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    if (const char* visible = std::getenv(variable)) {
      return fmt::format("{} is \"{}\"", variable, visible);
    }
  }
  return "check that /dev/dri/renderD* exist and can be opened (groups render and video)";
}

std::vector<LibraryFact> HipDialect::libraries() {
  int version = 0;
  std::vector<LibraryFact> facts = {{"runtime", library_.path(), "", ""}};
  if (api_.version(&version) == driver::code::success) facts[0].version = version_text(version);
  return facts;
}

std::string HipDialect::arch_of(int device) const {
  int (*properties)(void* target, int device) = nullptr;
  std::size_t offset = properties_arch_offset;
  if (!library_.bind(properties, {properties_symbol})) {
    if (!library_.bind(properties, {old_properties_symbol})) return {};
    offset = old_properties_arch_offset;
  }
  alignas(16) char bytes[properties_bytes] = {};
  if (properties(bytes, device) != driver::code::success) return {};
  return std::string(bytes + offset, ::strnlen(bytes + offset, arch_name_bytes));
}

void HipDialect::complete(DeviceFacts& facts, int device) {
  // The emulating runtime of tests/mi300x exports this symbol to identify itself.
  facts.emulated = library_.symbol("mi300x_virtual") != nullptr;
  facts.arch = arch_of(device);
  facts.last_level_cache_bytes =
      std::max(facts.last_level_cache_bytes, memory_side_cache_bytes(facts.arch));
  // hipDeviceAttributeWallClockRate, from ROCm 5.4 on; before, s_memrealtime's 100 MHz of CDNA.
  constexpr int wall_clock_rate_khz = 10017;
  int khz = 0;
  const bool known =
      api_.device_attribute(&khz, wall_clock_rate_khz, device) == driver::code::success && khz > 0;
  facts.tick_hz = known ? 1e3 * khz : 1e8;
  const AmdgpuFacts system = read_amdgpu_facts(this_machine(), facts.pci);
  facts.partition = system.partition;
  // 16 characters, not bytes: the digits of the kernel's unique_id, if the device has one.
  unsigned char id[16] = {};
  if (api_.device_uuid != nullptr && api_.device_uuid(id, device) == driver::code::success &&
      std::all_of(std::begin(id), std::end(id), [](int c) { return std::isxdigit(c) != 0; })) {
    facts.uuid = "GPU-" + std::string(std::begin(id), std::end(id));
  } else if (!system.unique_id.empty()) {
    facts.uuid = "GPU-" + system.unique_id;
  }
}

SensorReading HipDialect::sense(const DeviceFacts& facts) {
  return read_amdgpu_sensors(this_machine(), facts.pci);
}

Result<driver::RtcTool> HipDialect::rtc() {
  const MutexLock lock(mutex_);
  if (rtc_) return *rtc_;
  const SharedLibrary library = TRY(open_rtc(library_));
  RtcApi api{};
  TRY(bind_hiprtc(library, api));
  int major = 0, minor = 0;
  api.version(&major, &minor);
  rtc_ = driver::RtcTool{library.path(), fmt::format("{}.{}", major, minor),
                         file_identity(library.path())};
  return *rtc_;
}

std::vector<std::string> HipDialect::compile_options(const std::string& arch,
                                                     const driver::RtcTool&) const {
  return {"--gpu-architecture=" + arch, "-std=c++17", "-O3"};
}

Result<std::string> HipDialect::compile(const std::string& name, const std::string& source,
                                        const std::vector<std::string>& options) {
  const driver::RtcTool tool = TRY(rtc());
  CompileRequest request{tool.path, "hip", name, source, options};
  return compile_in_child(request);
}

}  // namespace assay::hip
