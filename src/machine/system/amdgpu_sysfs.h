// What the amdgpu driver says of a GPU in sysfs: identity, partition and sensors. Kernel files need
// no library and no privileges, and their layout is stable (Documentation/gpu/amdgpu).
#pragma once

#include <filesystem>
#include <string>

#include "machine/system/device_facts.h"
#include "machine/system/machine.h"

namespace assay {

/// The hwmon folder of the driver under the device's folder; empty if there is none, as in a
/// partition.
std::filesystem::path amdgpu_hwmon(const Machine& machine, const std::filesystem::path& device);

struct AmdgpuFacts {
  std::string unique_id;  ///< 16 hexadecimal digits
  std::string partition;  ///< "SPX/NPS1"; empty if the driver has no partitions
};

/// `pci` is the address HIP gives ("0000:3b:00.0"). In partition modes HIP counts partitions in the
/// function number, which may have no folder of its own: function 0 of the same device is read
/// instead. What is missing stays empty.
AmdgpuFacts read_amdgpu_facts(const Machine& machine, const std::string& pci);

/// Clock: of the slowest XCD where gpu_metrics tells, else of hwmon or the starred DPM level.
/// Temperature: the hottest of junction and memory. Power of the whole socket, also in a partition.
/// Throttle reasons stay empty: the driver counts them, and one reading says nothing about now.
SensorReading read_amdgpu_sensors(const Machine& machine, const std::string& pci);

}  // namespace assay
