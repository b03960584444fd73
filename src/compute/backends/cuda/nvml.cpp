#include "compute/backends/cuda/nvml.h"

#include <fmt/format.h>

namespace assay::cuda {

const Result<std::unique_ptr<Nvml>>& Nvml::shared() {
  static const Result<std::unique_ptr<Nvml>> nvml = open();
  return nvml;
}

Result<std::unique_ptr<Nvml>> Nvml::open() {
  NvmlApi api{};
  SharedLibrary library = TRY(load_nvml(api));
  if (const int code = api.init()) {
    const char* const text = api.error_text == nullptr ? nullptr : api.error_text(code);
    return Error{ErrorKind::unavailable,
                 fmt::format("{} loaded but nvmlInit gives error {}{}{}", library.path(), code,
                             text == nullptr ? "" : ": ", text == nullptr ? "" : text)};
  }
  return std::unique_ptr<Nvml>(new Nvml(std::move(library), api));
}

Nvml::~Nvml() {
  nvml_ok(api_.shutdown);
}

std::string Nvml::driver_version() const {
  char text[96] = {};
  return nvml_ok(api_.driver_version, text, unsigned{sizeof(text)}) ? text : std::string();
}

std::vector<NvmlDevice*> Nvml::devices() const {
  unsigned count = 0;
  nvml_ok(api_.count, &count);
  std::vector<NvmlDevice*> found;
  for (unsigned index = 0; index < count; ++index) {
    NvmlDevice* handle = nullptr;
    if (nvml_ok(api_.handle_by_index, index, &handle)) found.push_back(handle);
  }
  return found;
}

NvmlDevice* Nvml::device(const std::string& pci) {
  const MutexLock lock(mutex_);
  const auto known = devices_.find(pci);
  if (known != devices_.end()) return known->second;
  NvmlDevice* found = nullptr;
  if (!nvml_ok(api_.handle_by_pci, pci.c_str(), &found)) found = nullptr;
  return devices_[pci] = found;
}

SensorReading Nvml::sense(const std::string& pci) {
  SensorReading reading;
  NvmlDevice* const handle = device(pci);
  if (handle == nullptr) return reading;
  unsigned value = 0;
  if (nvml_ok(api_.clock, handle, nvml::clock_sm, &value)) reading.clock_hz = value * 1e6;
  if (nvml_ok(api_.clock, handle, nvml::clock_memory, &value)) {
    reading.memory_clock_hz = value * 1e6;
  }
  if (nvml_ok(api_.power, handle, &value)) reading.power_watts = value * 1e-3;
  if (nvml_ok(api_.temperature, handle, nvml::sensor_gpu, &value)) {
    reading.temperature_celsius = value;
  }
  unsigned long long reasons = 0;
  if (nvml_ok(api_.throttle_reasons, handle, &reasons)) {
    reading.throttle_reasons = throttle_words(reasons);
  }
  return reading;
}

}  // namespace assay::cuda
