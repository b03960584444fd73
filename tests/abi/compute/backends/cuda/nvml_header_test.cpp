// Our prototypes and numbers against nvml.h, and the words for NVML's bits.
#include <gtest/gtest.h>

#include "abi/abi_match.h"
#include "compute/backends/cuda/nvml_api.h"
#include "compute/backends/cuda/nvml_facts.h"

#if __has_include(<nvml.h>)
#include <nvml.h>
#endif

namespace assay::cuda {
namespace {

TEST(NvmlHeader, PrototypesAndValues) {
#if __has_include(<nvml.h>)
#define NVML(member, symbol) ASSAY_EXPECT_MATCH(NvmlApi, member, symbol)
  ASSAY_NVML(NVML)
  ASSAY_EXPECT_MATCH(NvmlApi, throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons)
  EXPECT_EQ(nvml::success, NVML_SUCCESS);
  EXPECT_EQ(nvml::clock_sm, NVML_CLOCK_SM);
  EXPECT_EQ(nvml::clock_memory, NVML_CLOCK_MEM);
  EXPECT_EQ(nvml::sensor_gpu, NVML_TEMPERATURE_GPU);
  EXPECT_EQ(nvml::inforom_oem, NVML_INFOROM_OEM);
  EXPECT_EQ(nvml::inforom_ecc, NVML_INFOROM_ECC);
  EXPECT_EQ(nvml::inforom_power, NVML_INFOROM_POWER);
  EXPECT_EQ(nvml::ecc_corrected, NVML_MEMORY_ERROR_TYPE_CORRECTED);
  EXPECT_EQ(nvml::ecc_uncorrected, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
  EXPECT_EQ(nvml::ecc_volatile, NVML_VOLATILE_ECC);
  EXPECT_EQ(nvml::retired_for_corrected, NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS);
  EXPECT_EQ(nvml::retired_for_uncorrected, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR);
  EXPECT_EQ(nvml::virtual_gpu, NVML_GPU_VIRTUALIZATION_MODE_VGPU);
  EXPECT_EQ(nvml::link_to_gpu, NVML_NVLINK_DEVICE_TYPE_GPU);
  EXPECT_EQ(nvml::link_to_switch, NVML_NVLINK_DEVICE_TYPE_SWITCH);
  EXPECT_EQ(nvml::field_memory_temperature, NVML_FI_DEV_MEMORY_TEMP);
  EXPECT_EQ(nvml::field_nvlink_sent, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX);
  EXPECT_EQ(nvml::field_nvlink_received, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX);
  EXPECT_EQ(nvml::field_nvlink_speed, NVML_FI_DEV_NVLINK_GET_SPEED);
  EXPECT_EQ(nvml::field_power_instant, NVML_FI_DEV_POWER_INSTANT);
  EXPECT_EQ(nvml::memory2_version, nvmlMemory_v2);
  EXPECT_EQ(nvml::type_double, NVML_VALUE_TYPE_DOUBLE);
  EXPECT_EQ(nvml::type_unsigned, NVML_VALUE_TYPE_UNSIGNED_INT);
  EXPECT_EQ(nvml::type_long, NVML_VALUE_TYPE_UNSIGNED_LONG);
  EXPECT_EQ(nvml::type_long_long, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
  EXPECT_EQ(nvml::type_signed_long_long, NVML_VALUE_TYPE_SIGNED_LONG_LONG);
  EXPECT_EQ(nvml::real_throttling,
            unsigned(nvmlClocksThrottleReasonSwPowerCap | nvmlClocksThrottleReasonHwSlowdown |
                     nvmlClocksThrottleReasonSwThermalSlowdown |
                     nvmlClocksThrottleReasonHwThermalSlowdown |
                     nvmlClocksThrottleReasonHwPowerBrakeSlowdown));
  EXPECT_EQ(throttle_words(nvmlClocksThrottleReasonSwPowerCap), "sw_power_cap");
  EXPECT_EQ(throttle_words(nvmlClocksThrottleReasonHwThermalSlowdown), "hw_thermal_slowdown");
  EXPECT_EQ(throttle_words(nvmlClocksThrottleReasonGpuIdle), "");
#else
  GTEST_SKIP() << "no nvml.h (CUDA toolkit) here";
#endif
}

TEST(NvmlHeader, Structures) {
#if __has_include(<nvml.h>)
  EXPECT_EQ(sizeof(NvmlPci), sizeof(nvmlPciInfo_t));
  EXPECT_EQ(offsetof(NvmlPci, domain), offsetof(nvmlPciInfo_t, domain));
  EXPECT_EQ(offsetof(NvmlPci, device_and_vendor), offsetof(nvmlPciInfo_t, pciDeviceId));
  EXPECT_EQ(sizeof(NvmlMemory), sizeof(nvmlMemory_t));
  EXPECT_EQ(offsetof(NvmlMemory, used), offsetof(nvmlMemory_t, used));
  EXPECT_EQ(sizeof(NvmlMemory2), sizeof(nvmlMemory_v2_t));
  EXPECT_EQ(offsetof(NvmlMemory2, used), offsetof(nvmlMemory_v2_t, used));
  EXPECT_EQ(sizeof(NvmlBar1), sizeof(nvmlBAR1Memory_t));
  EXPECT_EQ(sizeof(NvmlUtilization), sizeof(nvmlUtilization_t));
  EXPECT_EQ(sizeof(NvmlFieldValue), sizeof(nvmlFieldValue_t));
  EXPECT_EQ(offsetof(NvmlFieldValue, type), offsetof(nvmlFieldValue_t, valueType));
  EXPECT_EQ(offsetof(NvmlFieldValue, status), offsetof(nvmlFieldValue_t, nvmlReturn));
  EXPECT_EQ(offsetof(NvmlFieldValue, as_double), offsetof(nvmlFieldValue_t, value));
#else
  GTEST_SKIP() << "no nvml.h (CUDA toolkit) here";
#endif
}

TEST(Nvml, ThrottleWords) {
  EXPECT_EQ(throttle_words(0), "");
  EXPECT_EQ(throttle_words(0x1), "");  // idle is not throttling
  EXPECT_EQ(throttle_words(0x4), "sw_power_cap");
  EXPECT_EQ(throttle_words(0x4 | 0x40 | 0x1), "sw_power_cap,hw_thermal_slowdown");
  EXPECT_EQ(throttle_words(0x8 | 0x1000), "hw_slowdown,0x1000");
}

}  // namespace
}  // namespace assay::cuda
