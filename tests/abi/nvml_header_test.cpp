// Our prototypes and numbers against nvml.h, and the words made of NVML's bits.
#include <gtest/gtest.h>

#include "abi/abi_match.h"
#include "backends/cuda/nvml.h"

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
  EXPECT_EQ(NVML_SUCCESS, 0);
  EXPECT_EQ(nvml_clock_sm, NVML_CLOCK_SM);
  EXPECT_EQ(nvml_clock_memory, NVML_CLOCK_MEM);
  EXPECT_EQ(nvml_sensor_gpu, NVML_TEMPERATURE_GPU);
  EXPECT_EQ(throttle_words(nvmlClocksThrottleReasonSwPowerCap), "sw_power_cap");
  EXPECT_EQ(throttle_words(nvmlClocksThrottleReasonHwThermalSlowdown), "hw_thermal_slowdown");
  EXPECT_EQ(throttle_words(nvmlClocksThrottleReasonGpuIdle), "");
#else
  GTEST_SKIP() << "no nvml.h (CUDA toolkit) here";
#endif
}

TEST(Nvml, ThrottleWords) {
  EXPECT_EQ(throttle_words(0), "");
  EXPECT_EQ(throttle_words(0x1), "");  // idle holds nothing down
  EXPECT_EQ(throttle_words(0x4), "sw_power_cap");
  EXPECT_EQ(throttle_words(0x4 | 0x40 | 0x1), "sw_power_cap,hw_thermal_slowdown");
  EXPECT_EQ(throttle_words(0x8 | 0x1000), "hw_slowdown,0x1000");
}

}  // namespace
}  // namespace assay::cuda
