// What the amdgpu driver reports about a GPU in sysfs: identity, partition and sensors. Reading
// these files needs no library and no privileges, and their layout is stable
// (Documentation/gpu/amdgpu).
#pragma once

#include <filesystem>
#include <string>

#include "machine/system/machine.h"
#include "machine/system/sensor_reading.h"

namespace assay {

/// The driver's hwmon folder below the device's folder; empty if there is none: partitions have
/// none.
std::filesystem::path amdgpu_hwmon(const Machine& machine, const std::filesystem::path& device);

struct AmdgpuFacts {
  std::string unique_id;  ///< 16 hexadecimal digits
  std::string partition;  ///< "SPX/NPS1"; empty if the driver has no partitions
};

/// `pci` is the address HIP reports ("0000:3b:00.0"). In partition modes HIP numbers partitions in
/// the function digit. Such a function may have no folder of its own; function 0 of the same device
/// is then read instead. Missing values stay empty.
AmdgpuFacts read_amdgpu_facts(const Machine& machine, const std::string& pci);

/// Clock: of the slowest XCD if gpu_metrics reports it, else from hwmon or the starred DPM level.
/// Temperature: the higher of junction and memory. Power: of the whole socket, even for a
/// partition. Throttle reasons stay empty: the driver counts them, so one reading says nothing
/// about the present.
SensorReading read_amdgpu_sensors(const Machine& machine, const std::string& pci);

}  // namespace assay
