// Every function and number of HIP and hipRTC that assay uses, listed once: HipDialect fills its
// tables from these lists (core/bind_functions.h), and tests check them against the real headers.
// All of them have the same signature from ROCm 5 to 10.
#pragma once

#include <cstddef>

#include "compute/backends/driver/driver_api.h"
#include "compute/device/rtc_compiler.h"

namespace assay::hip {

#define ASSAY_HIP_DRIVER(F)                                        \
  F(init, hipInit)                                                 \
  F(version, hipRuntimeGetVersion)                                 \
  F(device_count, hipGetDeviceCount)                               \
  F(device, hipDeviceGet)                                          \
  F(device_name, hipDeviceGetName)                                 \
  F(device_memory, hipDeviceTotalMem)                              \
  F(device_attribute, hipDeviceGetAttribute)                       \
  F(device_pci, hipDeviceGetPCIBusId)                              \
  F(can_access_peer, hipDeviceCanAccessPeer)                       \
  F(memory_info, hipMemGetInfo)                                    \
  F(allocate, hipMalloc)                                           \
  F(release, hipFree)                                              \
  F(allocate_host, hipHostMalloc)                                  \
  F(release_host, hipHostFree)                                     \
  F(ipc_handle, hipIpcGetMemHandle)                                \
  F(ipc_open, hipIpcOpenMemHandle)                                 \
  F(ipc_close, hipIpcCloseMemHandle)                               \
  F(fill, hipMemsetD8Async)                                        \
  F(stream_priorities, hipDeviceGetStreamPriorityRange)            \
  F(stream_create, hipStreamCreateWithPriority)                    \
  F(stream_destroy, hipStreamDestroy)                              \
  F(stream_synchronize, hipStreamSynchronize)                      \
  F(stream_wait, hipStreamWaitEvent)                               \
  F(capture_begin, hipStreamBeginCapture)                          \
  F(capture_end, hipStreamEndCapture)                              \
  F(capture_status, hipStreamIsCapturing)                          \
  F(graph_launch, hipGraphLaunch)                                  \
  F(graph_update, hipGraphExecUpdate)                              \
  F(graph_destroy, hipGraphDestroy)                                \
  F(graph_exec_destroy, hipGraphExecDestroy)                       \
  F(event_create, hipEventCreateWithFlags)                         \
  F(event_destroy, hipEventDestroy)                                \
  F(event_record, hipEventRecord)                                  \
  F(event_synchronize, hipEventSynchronize)                        \
  F(event_query, hipEventQuery)                                    \
  F(event_elapsed, hipEventElapsedTime)                            \
  F(module_load, hipModuleLoadData)                                \
  F(module_unload, hipModuleUnload)                                \
  F(module_function, hipModuleGetFunction)                         \
  F(function_attribute, hipFuncGetAttribute)                       \
  F(occupancy, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor) \
  F(launch, hipModuleLaunchKernel)
/// Available since HIP 5.1.
#define ASSAY_HIP_DRIVER_OPTIONAL(F) F(device_uuid, hipDeviceGetUuid)
/// hipGraphUpload came with HIP 5.3, hipEventRecordWithFlags with 6.4; not every header that the
/// tests compile with has them.
#define ASSAY_HIP_DRIVER_YOUNG(F) \
  F(graph_upload, hipGraphUpload) \
  F(event_record_with_flags, hipEventRecordWithFlags)

/// The functions that have a different signature in CUDA.
struct HipApi {
  int (*set_device)(int ordinal);
  int (*allocate_with_flags)(void** address, std::size_t bytes, unsigned flags);
  int (*copy)(void* to, const void* from, std::size_t bytes, int kind,
              driver::StreamObject* stream);
  int (*copy_peer)(void* to, int to_ordinal, const void* from, int from_ordinal, std::size_t bytes,
                   driver::StreamObject* stream);
  int (*enable_peer)(int peer_ordinal, unsigned flags);
  int (*instantiate)(driver::GraphExecObject** exec, driver::GraphObject* graph, void** error_node,
                     char* log, std::size_t log_bytes);
  int (*capture_info)(driver::StreamObject* stream, int* status, unsigned long long* id,
                      driver::GraphObject** graph, driver::GraphNodeObject* const** last,
                      std::size_t* count);
  int (*capture_continue)(driver::StreamObject* stream, driver::GraphNodeObject** after,
                          std::size_t count, unsigned flags);
  int (*add_event_record)(driver::GraphNodeObject** node, driver::GraphObject* graph,
                          driver::GraphNodeObject* const* after, std::size_t count,
                          driver::EventObject* event);
  const char* (*error_name)(int code);
  const char* (*error_text)(int code);
};
#define ASSAY_HIP_ONLY(F)                                 \
  F(set_device, hipSetDevice)                             \
  F(allocate_with_flags, hipExtMallocWithFlags)           \
  F(copy, hipMemcpyAsync)                                 \
  F(copy_peer, hipMemcpyPeerAsync)                        \
  F(enable_peer, hipDeviceEnablePeerAccess)               \
  F(instantiate, hipGraphInstantiate)                     \
  F(capture_info, hipStreamGetCaptureInfo_v2)             \
  F(capture_continue, hipStreamUpdateCaptureDependencies) \
  F(add_event_record, hipGraphAddEventRecordNode)         \
  F(error_name, hipGetErrorName)                          \
  F(error_text, hipGetErrorString)

#define ASSAY_HIPRTC(F)                \
  F(version, hiprtcVersion)            \
  F(create, hiprtcCreateProgram)       \
  F(compile, hiprtcCompileProgram)     \
  F(log_size, hiprtcGetProgramLogSize) \
  F(log, hiprtcGetProgramLog)          \
  F(code_size, hiprtcGetCodeSize)      \
  F(code, hiprtcGetCode)               \
  F(destroy, hiprtcDestroyProgram)     \
  F(error_text, hiprtcGetErrorString)

constexpr driver::AttributeNumbers attribute_numbers = {
    .ecc = 0,
    .clock_khz = 5,
    .memory_clock_khz = 60,
    .memory_bus_bits = 59,
    .l2_bytes = 19,
    .multiprocessors = 63,
    .wave_size = 87,
    .max_threads_per_block = 56,
    .max_threads_per_multiprocessor = 57,
    .shared_bytes_per_block = 74,
    .shared_bytes_per_block_optin = 0,  // the number exists (75), but its value is always 0
};
constexpr std::uintptr_t launch_end = 3;
constexpr unsigned capture_set_dependencies = 1;  // replaces the existing dependencies
constexpr unsigned malloc_uncached = 3;           // hipDeviceMallocUncached
constexpr int copy_default = 4;                   // the direction follows from the addresses

/// hipDeviceProp_t grew at ROCm 6.0, under a new symbol; the old symbol keeps the old layout. Only
/// the architecture's name is read from it, because no attribute has it.
constexpr const char* properties_symbol = "hipGetDevicePropertiesR0600";
constexpr std::size_t properties_arch_offset = 1160;
constexpr const char* old_properties_symbol = "hipGetDeviceProperties";
constexpr std::size_t old_properties_arch_offset = 396;
constexpr std::size_t arch_name_bytes = 256;
constexpr std::size_t properties_bytes = 4096;  // far more than any release fills (1472)

}  // namespace assay::hip
