// The functions of a GPU driver, under neutral names. CUDA's driver API and HIP are near twins:
// functions with the same signature in both are here, and src/compute/backends/{cuda,hip}/ fill the
// table. The differences are in dialect.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::driver {

/// CUresult or hipError_t. Success is 0 in both.
using Code = int;

// The driver's opaque objects, used only through pointers. Distinct types catch swapped arguments.
struct StreamObject;
struct EventObject;
struct ModuleObject;
struct FunctionObject;
struct GraphObject;
struct GraphExecObject;
struct GraphNodeObject;

/// CUipcMemHandle or hipIpcMemHandle_t: names an allocation to other processes.
struct IpcHandle {
  unsigned char bytes[64];
};

/// `device` is the driver's device handle, an int in both. Tests check every member against the
/// real headers (tests/abi/).
struct DriverApi {
  Code (*init)(unsigned flags);
  Code (*version)(int* version);
  Code (*device_count)(int* count);
  Code (*device)(int* device, int ordinal);
  Code (*device_name)(char* name, int length, int device);
  Code (*device_memory)(std::size_t* bytes, int device);
  Code (*device_attribute)(int* value, int attribute, int device);
  Code (*device_uuid)(unsigned char* uuid, int device);  ///< 16 bytes; null before HIP 5.1
  Code (*device_pci)(char* address, int length, int device);
  Code (*can_access_peer)(int* can, int device, int peer);

  Code (*memory_info)(std::size_t* free, std::size_t* total);
  Code (*allocate)(void** address, std::size_t bytes);
  Code (*release)(void* address);
  Code (*allocate_host)(void** address, std::size_t bytes, unsigned flags);
  Code (*release_host)(void* address);
  Code (*ipc_handle)(IpcHandle* handle, void* address);
  Code (*ipc_open)(void** address, IpcHandle handle, unsigned flags);
  Code (*ipc_close)(void* address);
  Code (*fill)(void* address, unsigned char value, std::size_t bytes, StreamObject* stream);

  Code (*stream_priorities)(int* least, int* greatest);
  Code (*stream_create)(StreamObject** stream, unsigned flags, int priority);
  Code (*stream_destroy)(StreamObject* stream);
  Code (*stream_synchronize)(StreamObject* stream);
  Code (*stream_wait)(StreamObject* stream, EventObject* event, unsigned flags);
  Code (*capture_begin)(StreamObject* stream, int mode);
  Code (*capture_end)(StreamObject* stream, GraphObject** graph);
  Code (*capture_status)(StreamObject* stream, int* status);

  Code (*graph_launch)(GraphExecObject* graph, StreamObject* stream);
  Code (*graph_update)(GraphExecObject* graph, GraphObject* with, GraphNodeObject** unlike,
                       int* reason);
  Code (*graph_upload)(GraphExecObject* graph, StreamObject* stream);  ///< null before HIP 5.3
  Code (*graph_destroy)(GraphObject* graph);
  Code (*graph_exec_destroy)(GraphExecObject* graph);

  Code (*event_create)(EventObject** event, unsigned flags);
  Code (*event_destroy)(EventObject* event);
  Code (*event_record)(EventObject* event, StreamObject* stream);
  Code (*event_record_with_flags)(EventObject* event, StreamObject* stream,
                                  unsigned flags);  ///< null before HIP 6.4
  Code (*event_synchronize)(EventObject* event);
  Code (*event_query)(EventObject* event);
  Code (*event_elapsed)(float* milliseconds, EventObject* start, EventObject* end);

  Code (*module_load)(ModuleObject** module, const void* image);
  Code (*module_unload)(ModuleObject* module);
  Code (*module_function)(FunctionObject** function, ModuleObject* module, const char* name);
  Code (*function_attribute)(int* value, int attribute, FunctionObject* function);
  Code (*occupancy)(int* blocks, FunctionObject* function, int block_threads,
                    std::size_t dynamic_shared_bytes);
  Code (*launch)(FunctionObject* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                 StreamObject* stream, void** arguments, void** extra);
};

// Values that are the same in both vendors' headers, against which tests check them.
namespace code {
constexpr Code success = 0, invalid_value = 1, out_of_memory = 2, no_device = 100,
               invalid_device = 101, no_binary_for_device = 209, not_ready = 600,
               peer_access_already_enabled = 704, not_supported = 801, unknown = 999;
}
/// Markers before the address and the size of a buffer with a kernel's arguments. The end marker
/// differs between vendors (Dialect::end_of_launch() (dialect.h)).
constexpr std::uintptr_t launch_buffer = 1, launch_buffer_size = 2;
constexpr unsigned stream_non_blocking = 1;
constexpr unsigned event_default = 0, event_disable_timing = 2;
/// A flag of event_record_with_flags(): during a capture, adds a separate node, which every replay
/// runs.
constexpr unsigned event_record_external = 1;
constexpr unsigned host_portable = 1, host_mapped = 2;
constexpr unsigned ipc_enable_peer_access = 1;  // HIP 6.0 and later; 0 before
/// Allows calls during a capture that could break it, e.g. allocations: vendor libraries make them
/// inside captured calls.
constexpr int capture_relaxed = 2;
constexpr int capture_active = 1;  // a status
namespace function_attribute {
constexpr int max_threads_per_block = 0, shared_bytes = 1, local_bytes = 3, registers = 4;
}

/// Numbers of device attributes; CUDA and HIP number them differently.
struct AttributeNumbers {
  int ecc;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int l2_bytes;
  int multiprocessors;
  int wave_size;
  int max_threads_per_block;
  int max_threads_per_multiprocessor;
  int shared_bytes_per_block;
  int shared_bytes_per_block_optin;  ///< 0 if the driver has no opt-in
};

}  // namespace assay::driver
