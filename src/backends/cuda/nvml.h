// NVML, NVIDIA's management library: sensors that the driver API does not have.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/result.h"
#include "device/facts.h"
#include "device/shared_library.h"

namespace assay::cuda {

struct NvmlDevice;  // the library's own, only ever pointed at

struct NvmlApi {
  int (*init)();
  int (*shutdown)();
  int (*driver_version)(char* text, unsigned length);
  int (*handle_by_pci)(const char* address, NvmlDevice** device);
  int (*clock)(NvmlDevice* device, int type, unsigned* mhz);
  int (*power)(NvmlDevice* device, unsigned* milliwatts);
  int (*temperature)(NvmlDevice* device, int sensor, unsigned* celsius);
  int (*throttle_reasons)(NvmlDevice* device, unsigned long long* reasons);
};
/// All but throttle_reasons, which driver 535 gave a second name.
#define ASSAY_NVML(F)                                \
  F(init, nvmlInit_v2)                               \
  F(shutdown, nvmlShutdown)                          \
  F(driver_version, nvmlSystemGetDriverVersion)      \
  F(handle_by_pci, nvmlDeviceGetHandleByPciBusId_v2) \
  F(clock, nvmlDeviceGetClockInfo)                   \
  F(power, nvmlDeviceGetPowerUsage)                  \
  F(temperature, nvmlDeviceGetTemperature)

constexpr int nvml_clock_sm = 1, nvml_clock_memory = 2, nvml_sensor_gpu = 0;

/// The reasons in `bits` that hold clocks down, comma-separated in nvidia-smi's words. Being idle
/// is none: the clocks rise when work comes.
std::string throttle_words(unsigned long long bits);

class Nvml {
 public:
  /// Error: unavailable, naming what was looked for, or NVML's own error.
  static Result<std::unique_ptr<Nvml>> open();
  ~Nvml();

  const std::string& path() const { return library_.path(); }
  /// "580.65.06"; empty if it cannot be read.
  std::string driver_version() const;
  /// The sensors of the device at PCI address `pci`. Power is NVML's mean over the last second.
  SensorReading sense(const std::string& pci);

 private:
  Nvml(SharedLibrary library, const NvmlApi& api) : library_(std::move(library)), api_(api) {}
  NvmlDevice* device(const std::string& pci);

  SharedLibrary library_;
  NvmlApi api_;
  std::mutex mutex_;
  std::map<std::string, NvmlDevice*> devices_;  // null: NVML does not know it
};

}  // namespace assay::cuda
