// Every function and number of libcuda and NVRTC that assay uses, listed once: CudaDialect fills
// its tables from these lists (core/bind_functions.h), and tests check them against the real
// headers. In a versioned name such as cuMemAlloc_v2, cuda.h hides the number behind a macro.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "compute/backends/driver/driver_api.h"
#include "compute/device/rtc_compiler.h"
#include "compute/device/tensor_map.h"

namespace assay::cuda {

// libcuda.so.1, driver 470 (CUDA 11.4) and later.
#define ASSAY_CUDA_DRIVER(F)                                \
  F(init, cuInit)                                           \
  F(version, cuDriverGetVersion)                            \
  F(device_count, cuDeviceGetCount)                         \
  F(device, cuDeviceGet)                                    \
  F(device_name, cuDeviceGetName)                           \
  F(device_memory, cuDeviceTotalMem_v2)                     \
  F(device_attribute, cuDeviceGetAttribute)                 \
  F(device_uuid, cuDeviceGetUuid_v2)                        \
  F(device_pci, cuDeviceGetPCIBusId)                        \
  F(can_access_peer, cuDeviceCanAccessPeer)                 \
  F(memory_info, cuMemGetInfo_v2)                           \
  F(allocate, cuMemAlloc_v2)                                \
  F(release, cuMemFree_v2)                                  \
  F(allocate_host, cuMemHostAlloc)                          \
  F(release_host, cuMemFreeHost)                            \
  F(ipc_handle, cuIpcGetMemHandle)                          \
  F(ipc_open, cuIpcOpenMemHandle_v2)                        \
  F(ipc_close, cuIpcCloseMemHandle)                         \
  F(fill, cuMemsetD8Async)                                  \
  F(stream_priorities, cuCtxGetStreamPriorityRange)         \
  F(stream_create, cuStreamCreateWithPriority)              \
  F(stream_destroy, cuStreamDestroy_v2)                     \
  F(stream_synchronize, cuStreamSynchronize)                \
  F(stream_wait, cuStreamWaitEvent)                         \
  F(capture_begin, cuStreamBeginCapture_v2)                 \
  F(capture_end, cuStreamEndCapture)                        \
  F(capture_status, cuStreamIsCapturing)                    \
  F(graph_launch, cuGraphLaunch)                            \
  F(graph_update, cuGraphExecUpdate)                        \
  F(graph_upload, cuGraphUpload)                            \
  F(graph_destroy, cuGraphDestroy)                          \
  F(graph_exec_destroy, cuGraphExecDestroy)                 \
  F(event_create, cuEventCreate)                            \
  F(event_destroy, cuEventDestroy_v2)                       \
  F(event_record, cuEventRecord)                            \
  F(event_record_with_flags, cuEventRecordWithFlags)        \
  F(event_synchronize, cuEventSynchronize)                  \
  F(event_query, cuEventQuery)                              \
  F(event_elapsed, cuEventElapsedTime)                      \
  F(module_load, cuModuleLoadData)                          \
  F(module_unload, cuModuleUnload)                          \
  F(module_function, cuModuleGetFunction)                   \
  F(function_attribute, cuFuncGetAttribute)                 \
  F(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  F(launch, cuLaunchKernel)

struct ContextObject;

/// CUlaunchAttribute of cuda.h 12.x: the attribute's number and the union of values.
struct LaunchAttribute {
  int id;
  alignas(8) unsigned value[16];
};
/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  driver::StreamObject* stream;
  LaunchAttribute* attributes;
  unsigned count;
};

/// The driver functions that have a different signature in HIP.
struct CudaApi {
  int (*context_retain)(ContextObject** context, int device);
  int (*context_release)(int device);
  int (*context_set)(ContextObject* context);
  int (*copy)(void* to, const void* from, std::size_t bytes, driver::StreamObject* stream);
  int (*copy_peer)(void* to, ContextObject* to_context, const void* from,
                   ContextObject* from_context, std::size_t bytes, driver::StreamObject* stream);
  int (*enable_peer)(ContextObject* peer, unsigned flags);
  int (*instantiate)(driver::GraphExecObject** exec, driver::GraphObject* graph,
                     unsigned long long flags);
  int (*set_function_attribute)(driver::FunctionObject* function, int attribute, int value);
  int (*error_name)(int code, const char** name);
  int (*error_text)(int code, const char** text);
  int (*range_handle)(void* handle, void* address, std::size_t bytes, int type,
                      unsigned long long flags);  ///< null before CUDA 11.7
  int (*launch)(const LaunchConfig* config, driver::FunctionObject* function, void** arguments,
                void** extra);  ///< null before CUDA 11.8
  int (*encode_tiled)(TensorMap* map, int type, std::uint32_t rank, void* address,
                      const std::uint64_t* sizes, const std::uint64_t* strides,
                      const std::uint32_t* box, const std::uint32_t* steps, int interleave,
                      int swizzle, int l2_promotion, int fill);  ///< null before CUDA 12.0
};
#define ASSAY_CUDA_ONLY(F)                         \
  F(context_retain, cuDevicePrimaryCtxRetain)      \
  F(context_release, cuDevicePrimaryCtxRelease_v2) \
  F(context_set, cuCtxSetCurrent)                  \
  F(copy, cuMemcpyAsync)                           \
  F(copy_peer, cuMemcpyPeerAsync)                  \
  F(enable_peer, cuCtxEnablePeerAccess)            \
  F(instantiate, cuGraphInstantiateWithFlags)      \
  F(set_function_attribute, cuFuncSetAttribute)    \
  F(error_name, cuGetErrorName)                    \
  F(error_text, cuGetErrorString)

/// These functions are newer than the oldest supported driver.
#define ASSAY_CUDA_OPTIONAL(F)                   \
  F(range_handle, cuMemGetHandleForAddressRange) \
  F(launch, cuLaunchKernelEx)                    \
  F(encode_tiled, cuTensorMapEncodeTiled)

#define ASSAY_NVRTC(F)                \
  F(version, nvrtcVersion)            \
  F(create, nvrtcCreateProgram)       \
  F(compile, nvrtcCompileProgram)     \
  F(log_size, nvrtcGetProgramLogSize) \
  F(log, nvrtcGetProgramLog)          \
  F(code_size, nvrtcGetCUBINSize)     \
  F(code, nvrtcGetCUBIN)              \
  F(destroy, nvrtcDestroyProgram)     \
  F(error_text, nvrtcGetErrorString)

constexpr driver::AttributeNumbers attribute_numbers = {
    .ecc = 32,
    .clock_khz = 13,
    .memory_clock_khz = 36,
    .memory_bus_bits = 37,
    .l2_bytes = 38,
    .multiprocessors = 16,
    .wave_size = 10,
    .max_threads_per_block = 1,
    .max_threads_per_multiprocessor = 39,
    .shared_bytes_per_block = 8,
    .shared_bytes_per_block_optin = 97,
};
constexpr int attribute_capability_major = 75, attribute_capability_minor = 76;
constexpr int attribute_cluster_launch = 120, attribute_tensor_map_access = 127;
constexpr int launch_cluster_dimension = 4, launch_programmatic_serialization = 6;
/// Element types of a tensor map (CUtensorMapDataType). TensorSwizzle has CUDA's numbers.
namespace tensor {
constexpr int u8 = 0, u32 = 2, i32 = 3, u64 = 4, i64 = 5, f16 = 6, f32 = 7, f64 = 8, bf16 = 9,
              tf32 = 11;
}
constexpr int no_interleave = 0, zeros_outside = 0;
/// Returns 0, 1, 2, 3 for 0, 64, 128, 256 bytes.
constexpr int l2_promotion(unsigned bytes) {
  return bytes == 0 ? 0 : std::countr_zero(bytes) - 5;
}
constexpr std::uintptr_t launch_end = 0;  // CU_LAUNCH_PARAM_END
constexpr int range_handle_dmabuf = 1;    // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
constexpr int function_attribute_max_dynamic_shared_bytes = 8;

}  // namespace assay::cuda
