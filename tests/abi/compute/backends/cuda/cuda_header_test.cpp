// Our prototypes and numbers against the CUDA toolkit's cuda.h and nvrtc.h.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "abi/abi_match.h"
#include "compute/backends/cuda/cuda_functions.h"

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#define __CUDA_API_VERSION_INTERNAL  // each name is the symbol with that name, of whatever age
#include <cuda.h>
#include <nvrtc.h>

namespace assay {
namespace {

#define DRIVER(member, symbol) ASSAY_EXPECT_MATCH(driver::DriverApi, member, symbol)
#define ONLY(member, symbol) ASSAY_EXPECT_MATCH(cuda::CudaApi, member, symbol)
#define RTC(member, symbol) ASSAY_EXPECT_MATCH(RtcApi, member, symbol)

TEST(CudaHeader, Prototypes){ASSAY_CUDA_DRIVER(DRIVER) ASSAY_CUDA_ONLY(ONLY)
                                 ASSAY_CUDA_OPTIONAL(ONLY) ASSAY_NVRTC(RTC)}

TEST(CudaHeader, CommonValues) {
  const auto word = [](std::uintptr_t value) { return reinterpret_cast<void*>(value); };
  EXPECT_EQ(word(driver::launch_buffer), CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(word(driver::launch_buffer_size), CU_LAUNCH_PARAM_BUFFER_SIZE);
  EXPECT_EQ(word(cuda::launch_end), CU_LAUNCH_PARAM_END);
  EXPECT_EQ(driver::code::success, CUDA_SUCCESS);
  EXPECT_EQ(driver::code::invalid_value, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver::ipc_enable_peer_access,
            static_cast<unsigned>(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  EXPECT_EQ(driver::code::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver::code::no_device, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(driver::code::invalid_device, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(driver::code::no_binary_for_device, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(driver::code::not_ready, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(driver::code::peer_access_already_enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(driver::code::not_supported, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver::stream_non_blocking, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(driver::event_default, static_cast<unsigned>(CU_EVENT_DEFAULT));
  EXPECT_EQ(driver::event_disable_timing, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(driver::event_record_external, static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL));
  EXPECT_EQ(driver::capture_active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(driver::host_portable, static_cast<unsigned>(CU_MEMHOSTALLOC_PORTABLE));
  EXPECT_EQ(driver::host_mapped, static_cast<unsigned>(CU_MEMHOSTALLOC_DEVICEMAP));
  EXPECT_EQ(driver::capture_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(driver::function_attribute::max_threads_per_block,
            CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(driver::function_attribute::shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  EXPECT_EQ(driver::function_attribute::local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  EXPECT_EQ(driver::function_attribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
  EXPECT_EQ(cuda::function_attribute_max_dynamic_shared_bytes,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(cuda::range_handle_dmabuf, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
  EXPECT_EQ(driver::code::unknown, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(sizeof(CUuuid), 16u);
  EXPECT_EQ(NVRTC_SUCCESS, 0);
}

TEST(CudaHeader, LaunchesWithAttributes) {
  using cuda::LaunchAttribute, cuda::LaunchConfig;
  EXPECT_EQ(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(alignof(LaunchAttribute), alignof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(LaunchAttribute::value), sizeof(CUlaunchAttributeValue));
  EXPECT_EQ(sizeof(LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(LaunchConfig, grid), offsetof(CUlaunchConfig, gridDimX));
  EXPECT_EQ(offsetof(LaunchConfig, block), offsetof(CUlaunchConfig, blockDimX));
  EXPECT_EQ(offsetof(LaunchConfig, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(LaunchConfig, count), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(cuda::launch_cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(cuda::launch_programmatic_serialization,
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(cuda::attribute_cluster_launch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
  CUlaunchAttributeValue value = {};
  value.clusterDim.x = 2, value.clusterDim.y = 3, value.clusterDim.z = 4;
  constexpr unsigned cluster[3] = {2, 3, 4}, allowed[1] = {1};
  EXPECT_EQ(std::memcmp(&value, cluster, sizeof(cluster)), 0);
  value.programmaticStreamSerializationAllowed = 1;
  EXPECT_EQ(std::memcmp(&value, allowed, sizeof(allowed)), 0);
}

TEST(CudaHeader, TensorMaps) {
  EXPECT_EQ(sizeof(TensorMap), sizeof(CUtensorMap));
  EXPECT_EQ(cuda::attribute_tensor_map_access, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
  EXPECT_EQ(cuda::tensor::u8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
  EXPECT_EQ(cuda::tensor::u32, CU_TENSOR_MAP_DATA_TYPE_UINT32);
  EXPECT_EQ(cuda::tensor::i32, CU_TENSOR_MAP_DATA_TYPE_INT32);
  EXPECT_EQ(cuda::tensor::u64, CU_TENSOR_MAP_DATA_TYPE_UINT64);
  EXPECT_EQ(cuda::tensor::i64, CU_TENSOR_MAP_DATA_TYPE_INT64);
  EXPECT_EQ(cuda::tensor::f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  EXPECT_EQ(cuda::tensor::f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  EXPECT_EQ(cuda::tensor::f64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
  EXPECT_EQ(cuda::tensor::bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(cuda::tensor::tf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
  const auto swizzle = [](TensorSwizzle ours) { return static_cast<int>(ours); };
  EXPECT_EQ(swizzle(TensorSwizzle::none), CU_TENSOR_MAP_SWIZZLE_NONE);
  EXPECT_EQ(swizzle(TensorSwizzle::bytes_32), CU_TENSOR_MAP_SWIZZLE_32B);
  EXPECT_EQ(swizzle(TensorSwizzle::bytes_64), CU_TENSOR_MAP_SWIZZLE_64B);
  EXPECT_EQ(swizzle(TensorSwizzle::bytes_128), CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(cuda::l2_promotion(0), CU_TENSOR_MAP_L2_PROMOTION_NONE);
  EXPECT_EQ(cuda::l2_promotion(64), CU_TENSOR_MAP_L2_PROMOTION_L2_64B);
  EXPECT_EQ(cuda::l2_promotion(128), CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  EXPECT_EQ(cuda::l2_promotion(256), CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  EXPECT_EQ(cuda::no_interleave, CU_TENSOR_MAP_INTERLEAVE_NONE);
  EXPECT_EQ(cuda::zeros_outside, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

TEST(CudaHeader, DeviceAttributes) {
  constexpr driver::AttributeNumbers ours = cuda::attribute_numbers;
  EXPECT_EQ(ours.ecc, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  EXPECT_EQ(ours.clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  EXPECT_EQ(ours.memory_clock_khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  EXPECT_EQ(ours.memory_bus_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  EXPECT_EQ(ours.l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  EXPECT_EQ(ours.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(ours.wave_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  EXPECT_EQ(ours.max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(ours.max_threads_per_multiprocessor,
            CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  EXPECT_EQ(ours.shared_bytes_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  EXPECT_EQ(ours.shared_bytes_per_block_optin,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(cuda::attribute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(cuda::attribute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

}  // namespace
}  // namespace assay

#else
TEST(CudaHeader, Prototypes) {
  GTEST_SKIP() << "no cuda.h and nvrtc.h (CUDA toolkit) here";
}
#endif
