// The NVML functions, structures and numbers that assay uses, written from nvml.h (API 13) and
// checked against it by a test where it is installed. All functions but init are optional: a
// function that the driver is too old for is null here, and its fact is missing.
#pragma once

#include <string>

#include "core/result.h"
#include "core/shared_library.h"

namespace assay::cuda {

struct NvmlDevice;  // opaque, used only through pointers

struct NvmlPci {
  char legacy_address[16];
  unsigned domain, bus, device, device_and_vendor, subsystem;
  char address[32];  ///< "00000000:3B:00.0"
};
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlMemory2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct NvmlBar1 {
  unsigned long long total, free, used;
};
struct NvmlUtilization {
  unsigned gpu, memory;  ///< percent
};
struct NvmlFieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  union {
    double as_double;
    int as_int;
    unsigned as_unsigned;
    unsigned long as_long;
    unsigned long long as_long_long;
    long long as_signed_long_long;
    unsigned short as_short;
  };
};

struct NvmlApi {
  int (*init)();
  int (*shutdown)();
  const char* (*error_text)(int code);
  int (*driver_version)(char* text, unsigned length);
  int (*cuda_version)(int* version);
  int (*count)(unsigned* devices);
  int (*handle_by_index)(unsigned index, NvmlDevice** device);
  int (*handle_by_pci)(const char* address, NvmlDevice** device);
  int (*pci)(NvmlDevice* device, NvmlPci* pci);
  int (*name)(NvmlDevice* device, char* text, unsigned length);
  int (*uuid)(NvmlDevice* device, char* text, unsigned length);
  int (*serial)(NvmlDevice* device, char* text, unsigned length);
  int (*vbios)(NvmlDevice* device, char* text, unsigned length);
  int (*inforom)(NvmlDevice* device, int object, char* text, unsigned length);
  int (*inforom_image)(NvmlDevice* device, char* text, unsigned length);
  int (*gsp_firmware)(NvmlDevice* device, char* text);
  int (*minor_number)(NvmlDevice* device, unsigned* minor);
  int (*capability)(NvmlDevice* device, int* major, int* minor);
  int (*cores)(NvmlDevice* device, unsigned* cores);
  int (*memory)(NvmlDevice* device, NvmlMemory* memory);
  int (*memory2)(NvmlDevice* device, NvmlMemory2* memory);
  int (*bar1)(NvmlDevice* device, NvmlBar1* memory);
  int (*mig_mode)(NvmlDevice* device, unsigned* current, unsigned* pending);
  int (*ecc_mode)(NvmlDevice* device, int* current, int* pending);
  int (*ecc_errors)(NvmlDevice* device, int type, int counter, unsigned long long* errors);
  int (*retired_pages)(NvmlDevice* device, int cause, unsigned* count,
                       unsigned long long* addresses);
  int (*remapped_rows)(NvmlDevice* device, unsigned* corrected, unsigned* uncorrected,
                       unsigned* pending, unsigned* failed);
  int (*power_limit)(NvmlDevice* device, unsigned* milliwatts);
  int (*power_limit_default)(NvmlDevice* device, unsigned* milliwatts);
  int (*power_limit_range)(NvmlDevice* device, unsigned* least, unsigned* most);
  int (*power_limit_enforced)(NvmlDevice* device, unsigned* milliwatts);
  int (*clock)(NvmlDevice* device, int type, unsigned* mhz);
  int (*clock_max)(NvmlDevice* device, int type, unsigned* mhz);
  int (*power)(NvmlDevice* device, unsigned* milliwatts);
  int (*energy)(NvmlDevice* device, unsigned long long* millijoules);
  int (*temperature)(NvmlDevice* device, int sensor, unsigned* celsius);
  int (*throttle_reasons)(NvmlDevice* device, unsigned long long* reasons);
  int (*utilization)(NvmlDevice* device, NvmlUtilization* utilization);
  int (*pcie_generation)(NvmlDevice* device, unsigned* generation);
  int (*pcie_generation_max)(NvmlDevice* device, unsigned* generation);
  int (*pcie_width)(NvmlDevice* device, unsigned* lanes);
  int (*pcie_width_max)(NvmlDevice* device, unsigned* lanes);
  int (*pcie_replays)(NvmlDevice* device, unsigned* replays);
  int (*nvlink_state)(NvmlDevice* device, unsigned link, int* active);
  int (*nvlink_remote_pci)(NvmlDevice* device, unsigned link, NvmlPci* pci);
  int (*nvlink_remote_type)(NvmlDevice* device, unsigned link, int* type);
  int (*field_values)(NvmlDevice* device, int count, NvmlFieldValue* values);
  int (*virtualization)(NvmlDevice* device, int* mode);
};
/// All functions except throttle_reasons, which got a second name in driver 535.
#define ASSAY_NVML(F)                                                \
  F(init, nvmlInit_v2)                                               \
  F(shutdown, nvmlShutdown)                                          \
  F(error_text, nvmlErrorString)                                     \
  F(driver_version, nvmlSystemGetDriverVersion)                      \
  F(cuda_version, nvmlSystemGetCudaDriverVersion_v2)                 \
  F(count, nvmlDeviceGetCount_v2)                                    \
  F(handle_by_index, nvmlDeviceGetHandleByIndex_v2)                  \
  F(handle_by_pci, nvmlDeviceGetHandleByPciBusId_v2)                 \
  F(pci, nvmlDeviceGetPciInfo_v3)                                    \
  F(name, nvmlDeviceGetName)                                         \
  F(uuid, nvmlDeviceGetUUID)                                         \
  F(serial, nvmlDeviceGetSerial)                                     \
  F(vbios, nvmlDeviceGetVbiosVersion)                                \
  F(inforom, nvmlDeviceGetInforomVersion)                            \
  F(inforom_image, nvmlDeviceGetInforomImageVersion)                 \
  F(gsp_firmware, nvmlDeviceGetGspFirmwareVersion)                   \
  F(minor_number, nvmlDeviceGetMinorNumber)                          \
  F(capability, nvmlDeviceGetCudaComputeCapability)                  \
  F(cores, nvmlDeviceGetNumGpuCores)                                 \
  F(memory, nvmlDeviceGetMemoryInfo)                                 \
  F(memory2, nvmlDeviceGetMemoryInfo_v2)                             \
  F(bar1, nvmlDeviceGetBAR1MemoryInfo)                               \
  F(mig_mode, nvmlDeviceGetMigMode)                                  \
  F(ecc_mode, nvmlDeviceGetEccMode)                                  \
  F(ecc_errors, nvmlDeviceGetTotalEccErrors)                         \
  F(retired_pages, nvmlDeviceGetRetiredPages)                        \
  F(remapped_rows, nvmlDeviceGetRemappedRows)                        \
  F(power_limit, nvmlDeviceGetPowerManagementLimit)                  \
  F(power_limit_default, nvmlDeviceGetPowerManagementDefaultLimit)   \
  F(power_limit_range, nvmlDeviceGetPowerManagementLimitConstraints) \
  F(power_limit_enforced, nvmlDeviceGetEnforcedPowerLimit)           \
  F(clock, nvmlDeviceGetClockInfo)                                   \
  F(clock_max, nvmlDeviceGetMaxClockInfo)                            \
  F(power, nvmlDeviceGetPowerUsage)                                  \
  F(energy, nvmlDeviceGetTotalEnergyConsumption)                     \
  F(temperature, nvmlDeviceGetTemperature)                           \
  F(utilization, nvmlDeviceGetUtilizationRates)                      \
  F(pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration)            \
  F(pcie_generation_max, nvmlDeviceGetMaxPcieLinkGeneration)         \
  F(pcie_width, nvmlDeviceGetCurrPcieLinkWidth)                      \
  F(pcie_width_max, nvmlDeviceGetMaxPcieLinkWidth)                   \
  F(pcie_replays, nvmlDeviceGetPcieReplayCounter)                    \
  F(nvlink_state, nvmlDeviceGetNvLinkState)                          \
  F(nvlink_remote_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2)          \
  F(nvlink_remote_type, nvmlDeviceGetNvLinkRemoteDeviceType)         \
  F(field_values, nvmlDeviceGetFieldValues)                          \
  F(virtualization, nvmlDeviceGetVirtualizationMode)

namespace nvml {
constexpr int success = 0;
constexpr int clock_sm = 1, clock_memory = 2, sensor_gpu = 0;
constexpr int inforom_oem = 0, inforom_ecc = 1, inforom_power = 2;
constexpr int ecc_corrected = 0, ecc_uncorrected = 1, ecc_volatile = 0;
constexpr int retired_for_corrected = 0, retired_for_uncorrected = 1;
constexpr int virtual_gpu = 2;  ///< a result of virtualization()
constexpr int link_to_gpu = 0, link_to_switch = 2;
constexpr unsigned most_links = 36;
constexpr unsigned field_memory_temperature = 82, field_nvlink_sent = 138,
                   field_nvlink_received = 139, field_nvlink_speed = 164, field_power_instant = 186;
constexpr unsigned all_links = ~0u;  ///< scope of a field
constexpr int type_double = 0, type_unsigned = 1, type_long = 2, type_long_long = 3,
              type_signed_long_long = 4, type_int = 5, type_short = 6;
constexpr unsigned memory2_version = sizeof(NvmlMemory2) | 2u << 24;
/// The reason that the board is at its power limit, which the driver enforces by the clock.
constexpr unsigned long long at_power_limit = 0x4;
/// Reasons that force a clock down: power, temperature, the board's power brake, and hw_slowdown,
/// which stands for any of them in hardware. Idle, user settings and sync boost are not included.
constexpr unsigned long long real_throttling = at_power_limit | 0x8 | 0x20 | 0x40 | 0x80;
}  // namespace nvml

/// Loads NVML and fills `api`. Error: unavailable, naming what was looked for, or that the library
/// has no init.
Result<SharedLibrary> load_nvml(NvmlApi& api);

/// Calls a function that the library may lack; returns true if it exists and succeeded.
template <typename... Parameters, typename... Arguments>
bool nvml_ok(int (*function)(Parameters...), Arguments... arguments) {
  return function != nullptr && function(arguments...) == nvml::success;
}

/// Lists the reasons in `bits` that hold clocks down, comma-separated, in nvidia-smi's terms;
/// unknown ones as one hexadecimal number. Idle is not included, because the clocks rise when work
/// arrives.
std::string throttle_words(unsigned long long bits);
/// Returns a field of nvmlDeviceGetFieldValues in NVML's unit; NaN if the device does not have it.
/// `scope` is a link's number, or all_links.
double field_value(const NvmlApi& api, NvmlDevice* device, unsigned field, unsigned scope = 0);
/// Converts "00000000:3B:00.0" to the form of sysfs and CUDA, "0000:3b:00.0".
std::string pci_text(const NvmlPci& pci);

}  // namespace assay::cuda
