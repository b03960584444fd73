#include "backends/cuda/nvml.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "backends/cuda/cuda_libraries.h"
#include "backends/driver/bind.h"

namespace assay::cuda {
namespace {

Status bind(const SharedLibrary& library, NvmlApi& api) {
  ASSAY_NVML(ASSAY_BIND)
  library.bind(api.throttle_reasons, {"nvmlDeviceGetCurrentClocksEventReasons",
                                      "nvmlDeviceGetCurrentClocksThrottleReasons"});
  return {};
}

}  // namespace

std::string throttle_words(unsigned long long bits) {
  constexpr std::pair<unsigned long long, const char*> words[] = {
      {0x2, "applications_clocks_setting"},
      {0x4, "sw_power_cap"},
      {0x8, "hw_slowdown"},
      {0x10, "sync_boost"},
      {0x20, "sw_thermal_slowdown"},
      {0x40, "hw_thermal_slowdown"},
      {0x80, "hw_power_brake_slowdown"},
      {0x100, "display_clock_setting"}};
  std::vector<std::string> found;
  unsigned long long unknown = bits & ~0x1ull;  // bit 0: idle
  for (const auto& [bit, word] : words) {
    if ((bits & bit) != 0) found.emplace_back(word);
    unknown &= ~bit;
  }
  if (unknown != 0) found.push_back(fmt::format("{:#x}", unknown));
  return fmt::format("{}", fmt::join(found, ","));
}

Result<std::unique_ptr<Nvml>> Nvml::open() {
  SharedLibrary library = TRY(SharedLibrary::open(nvml_candidates()));
  NvmlApi api{};
  TRY(bind(library, api));
  if (const int code = api.init()) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} loaded but nvmlInit gives error {}", library.path(), code)};
  }
  return std::unique_ptr<Nvml>(new Nvml(std::move(library), api));
}

Nvml::~Nvml() {
  api_.shutdown();
}

std::string Nvml::driver_version() const {
  char text[96] = {};
  return api_.driver_version(text, sizeof(text)) == 0 ? text : std::string();
}

NvmlDevice* Nvml::device(const std::string& pci) {
  const std::lock_guard lock(mutex_);
  const auto known = devices_.find(pci);
  if (known != devices_.end()) return known->second;
  NvmlDevice* found = nullptr;
  if (api_.handle_by_pci(pci.c_str(), &found) != 0) found = nullptr;
  return devices_[pci] = found;
}

SensorReading Nvml::sense(const std::string& pci) {
  SensorReading reading;
  NvmlDevice* const handle = device(pci);
  if (handle == nullptr) return reading;
  unsigned value = 0;
  if (api_.clock(handle, nvml_clock_sm, &value) == 0) reading.clock_hz = value * 1e6;
  if (api_.clock(handle, nvml_clock_memory, &value) == 0) reading.memory_clock_hz = value * 1e6;
  if (api_.power(handle, &value) == 0) reading.power_watts = value * 1e-3;
  if (api_.temperature(handle, nvml_sensor_gpu, &value) == 0) {
    reading.temperature_celsius = value;
  }
  unsigned long long reasons = 0;
  if (api_.throttle_reasons != nullptr && api_.throttle_reasons(handle, &reasons) == 0) {
    reading.throttle_reasons = throttle_words(reasons);
  }
  return reading;
}

}  // namespace assay::cuda
