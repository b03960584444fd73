// Our prototypes and numbers against HIP's headers, of whatever release is installed.
#include <gtest/gtest.h>

#include "abi/abi_match.h"
#include "compute/backends/hip/hip_functions.h"

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__  // overloads would make the functions' addresses ambiguous
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

namespace assay {
namespace {

#define DRIVER(member, symbol) ASSAY_EXPECT_MATCH(driver::DriverApi, member, symbol)
#define ONLY(member, symbol) ASSAY_EXPECT_MATCH(hip::HipApi, member, symbol)
#define RTC(member, symbol) ASSAY_EXPECT_MATCH(RtcApi, member, symbol)

TEST(HipHeader, Prototypes){ASSAY_HIP_DRIVER(DRIVER) ASSAY_HIP_DRIVER_OPTIONAL(DRIVER)
                                ASSAY_HIP_ONLY(ONLY) ASSAY_HIPRTC(RTC)}

TEST(HipHeader, PrototypesOfWhatIsYounger) {
#if HIP_VERSION >= 60400000
  ASSAY_HIP_DRIVER_YOUNG(DRIVER)
  EXPECT_EQ(driver::event_record_external, static_cast<unsigned>(hipEventRecordExternal));
#else
  GTEST_SKIP() << "hip_runtime_api.h is older than HIP 6.4";
#endif
}

TEST(HipHeader, CommonValues) {
  const auto word = [](std::uintptr_t value) { return reinterpret_cast<void*>(value); };
  EXPECT_EQ(word(driver::launch_buffer), HIP_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(word(driver::launch_buffer_size), HIP_LAUNCH_PARAM_BUFFER_SIZE);
  EXPECT_EQ(word(hip::launch_end), HIP_LAUNCH_PARAM_END);
  EXPECT_EQ(driver::code::success, hipSuccess);
  EXPECT_EQ(driver::code::invalid_value, hipErrorInvalidValue);
  EXPECT_EQ(driver::ipc_enable_peer_access,
            HIP_VERSION_MAJOR >= 6 ? hipIpcMemLazyEnablePeerAccess : 1u);
  EXPECT_EQ(HIP_VERSION_MAJOR >= 6 ? 0 : hipIpcMemLazyEnablePeerAccess, 0);
  EXPECT_EQ(driver::code::out_of_memory, hipErrorOutOfMemory);
  EXPECT_EQ(driver::code::no_device, hipErrorNoDevice);
  EXPECT_EQ(driver::code::invalid_device, hipErrorInvalidDevice);
  EXPECT_EQ(driver::code::no_binary_for_device, hipErrorNoBinaryForGpu);
  EXPECT_EQ(driver::code::not_ready, hipErrorNotReady);
  EXPECT_EQ(driver::code::peer_access_already_enabled, hipErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(driver::code::not_supported, hipErrorNotSupported);
  EXPECT_EQ(driver::code::unknown, hipErrorUnknown);
  EXPECT_EQ(driver::stream_non_blocking, static_cast<unsigned>(hipStreamNonBlocking));
  EXPECT_EQ(driver::event_default, static_cast<unsigned>(hipEventDefault));
  EXPECT_EQ(driver::event_disable_timing, static_cast<unsigned>(hipEventDisableTiming));
  EXPECT_EQ(driver::capture_active, hipStreamCaptureStatusActive);
  EXPECT_EQ(hip::capture_set_dependencies, static_cast<unsigned>(hipStreamSetCaptureDependencies));
  EXPECT_EQ(driver::host_portable, static_cast<unsigned>(hipHostMallocPortable));
  EXPECT_EQ(driver::host_mapped, static_cast<unsigned>(hipHostMallocMapped));
  EXPECT_EQ(driver::capture_relaxed, hipStreamCaptureModeRelaxed);
  EXPECT_EQ(driver::function_attribute::max_threads_per_block,
            HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(driver::function_attribute::shared_bytes, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  EXPECT_EQ(driver::function_attribute::local_bytes, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  EXPECT_EQ(driver::function_attribute::registers, HIP_FUNC_ATTRIBUTE_NUM_REGS);
  EXPECT_EQ(hip::copy_default, hipMemcpyDefault);
  EXPECT_EQ(sizeof(hipUUID), 16u);
  EXPECT_EQ(HIPRTC_SUCCESS, 0);
}

TEST(HipHeader, DeviceAttributes) {
  constexpr driver::AttributeNumbers ours = hip::attribute_numbers;
  EXPECT_EQ(ours.ecc, hipDeviceAttributeEccEnabled);
  EXPECT_EQ(ours.clock_khz, hipDeviceAttributeClockRate);
  EXPECT_EQ(ours.memory_clock_khz, hipDeviceAttributeMemoryClockRate);
  EXPECT_EQ(ours.memory_bus_bits, hipDeviceAttributeMemoryBusWidth);
  EXPECT_EQ(ours.l2_bytes, hipDeviceAttributeL2CacheSize);
  EXPECT_EQ(ours.multiprocessors, hipDeviceAttributeMultiprocessorCount);
  EXPECT_EQ(ours.wave_size, hipDeviceAttributeWarpSize);
  EXPECT_EQ(ours.max_threads_per_block, hipDeviceAttributeMaxThreadsPerBlock);
  EXPECT_EQ(ours.max_threads_per_multiprocessor, hipDeviceAttributeMaxThreadsPerMultiProcessor);
  EXPECT_EQ(ours.shared_bytes_per_block, hipDeviceAttributeMaxSharedMemoryPerBlock);
}

/// The header describes the layout of its own release: the old one before HIP 6, R0600 after.
TEST(HipHeader, PlaceOfTheArchitecturesName) {
  const std::size_t ours =
      HIP_VERSION_MAJOR < 6 ? hip::old_properties_arch_offset : hip::properties_arch_offset;
  EXPECT_EQ(ours, offsetof(hipDeviceProp_t, gcnArchName));
  EXPECT_EQ(hip::arch_name_bytes, sizeof(hipDeviceProp_t::gcnArchName));
  EXPECT_LE(sizeof(hipDeviceProp_t), hip::properties_bytes);
}

}  // namespace
}  // namespace assay

#else
TEST(HipHeader, Prototypes) {
  GTEST_SKIP() << "no hip/hip_runtime_api.h (Debian: libamdhip64-dev) here";
}
#endif
