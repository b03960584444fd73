// Reads what the amdgpu driver reports about a GPU in sysfs: identity, partition and sensors. These
// files need no library and no privileges, and their layout is stable (Documentation/gpu/amdgpu).
#pragma once

#include <filesystem>
#include <string>

#include "machine/system/machine.h"
#include "machine/system/sensor_reading.h"

namespace assay {

/// Returns the driver's hwmon folder below the device's folder; empty if there is none, as for
/// partitions.
std::filesystem::path amdgpu_hwmon(const Machine& machine, const std::filesystem::path& device);

struct AmdgpuFacts {
  std::string unique_id;  ///< 16 hexadecimal digits
  std::string partition;  ///< "SPX/NPS1"; empty if the driver has no partitions
};

/// `pci` is the address that HIP reports ("0000:3b:00.0"). In partition modes HIP numbers
/// partitions in the function digit. If such a function has no folder, function 0 of the same
/// device is read instead. Missing values stay empty.
AmdgpuFacts read_amdgpu_facts(const Machine& machine, const std::string& pci);

/// Clock: that of the slowest XCD if gpu_metrics reports it, else from hwmon or the starred DPM
/// level. Temperature: the highest of edge, junction and memory. Power: that of the whole socket,
/// even for a partition. Throttle reasons stay empty, because the driver only counts them and one
/// reading does not describe the present. `pci` is as for read_amdgpu_facts().
SensorReading read_amdgpu_sensors(const Machine& machine, const std::string& pci);

}  // namespace assay
