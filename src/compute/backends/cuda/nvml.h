// NVML, NVIDIA's management library, has sensors that the driver API lacks. Using it creates no
// device context.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compute/backends/cuda/nvml_api.h"
#include "core/mutex.h"
#include "core/result.h"
#include "core/shared_library.h"
#include "machine/system/sensor_reading.h"
#include "results/record/device_facts.h"

namespace assay::cuda {

class Nvml {
 public:
  /// The only instance in this process, opened on the first call. Error: unavailable, naming what
  /// was looked for, or NVML's own error.
  static const Result<std::unique_ptr<Nvml>>& shared();
  ~Nvml();

  const std::string& path() const { return library_.path(); }
  const NvmlApi& api() const { return api_; }
  /// Returns the driver's version, such as "580.65.06"; empty if it cannot be read.
  std::string driver_version() const;
  /// Every GPU that NVML can open, in its order. NVML owns them.
  std::vector<NvmlDevice*> devices() const;
  /// Returns the sensors of the device at PCI address `pci` ("0000:3b:00.0"); empty if NVML does
  /// not know it. Power is NVML's mean over the last second, or on A100 and GPUs before Ampere the
  /// present value. Several threads may call this.
  SensorReading sense(const std::string& pci);

 private:
  Nvml(SharedLibrary library, const NvmlApi& api) : library_(std::move(library)), api_(api) {}
  static Result<std::unique_ptr<Nvml>> open();
  NvmlDevice* device(const std::string& pci);

  SharedLibrary library_;
  NvmlApi api_;
  Mutex mutex_;
  /// Keyed by address; null: unknown to NVML.
  std::map<std::string, NvmlDevice*> devices_ GUARDED_BY(mutex_);
};

}  // namespace assay::cuda
