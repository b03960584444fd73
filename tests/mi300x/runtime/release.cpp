// The differences between releases of HIP; compiled once per release, with MI300X_HIP_RELEASE.
#include <cstring>

#include "runtime/handles.h"
#include "runtime/stream.h"

namespace mi300x::runtime {

const int hip_release = MI300X_HIP_RELEASE;

namespace {

/// Writes a value at its offset in a structure of another release.
template <typename T>
void put(char* structure, std::size_t offset, T value) {
  std::memcpy(structure + offset, &value, sizeof value);
}

[[maybe_unused]] void put(char* structure, std::size_t offset, const std::string& text) {
  std::memcpy(structure + offset, text.c_str(), text.size() + 1);
}

}  // namespace
}  // namespace mi300x::runtime

using namespace mi300x::runtime;

extern "C" {

hipError_t hipRuntimeGetVersion(int* version) {
  return call(__func__, [&] {
    *version = MI300X_HIP_RELEASE >= 7 ? 70051831 : MI300X_HIP_RELEASE >= 6 ? 60241134 : 50221153;
    return hipSuccess;
  });
}

/// This function always uses the layout of ROCm 5, which the header has; in ROCm 6 it serves older
/// programs.
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int ordinal) {
  return call(__func__, [&] {
    if (!Runtime::instance().valid(ordinal)) return hipErrorInvalidDevice;
    const Machine& machine = Runtime::instance().machine;
    const Device& device = Runtime::instance().device(ordinal);
    *properties = {};
    std::strcpy(properties->name, machine.name().c_str());
    std::strcpy(properties->gcnArchName, arch_name);
    properties->totalGlobalMem = device.memory_bytes;
    properties->sharedMemPerBlock = shared_bytes;
    properties->regsPerBlock = 65536;
    properties->warpSize = 64;
    properties->maxThreadsPerBlock = threads_per_block;
    for (int& size : properties->maxThreadsDim) size = threads_per_block;
    properties->clockRate = clock_khz;
    properties->memoryClockRate = memory_clock_khz;
    properties->memoryBusWidth = memory_bus_bits;
    properties->major = 9;
    properties->minor = 4;
    properties->multiProcessorCount = device.chip.compute_units;
    properties->l2CacheSize = l2_bytes;
    properties->maxThreadsPerMultiProcessor = threads_per_unit;
    properties->clockInstructionRate = wall_clock_khz;
    properties->concurrentKernels = 1;
    properties->pciBusID = machine.pci_bus(ordinal);
    properties->maxSharedMemoryPerMultiProcessor = shared_bytes;
    properties->canMapHostMemory = 1;
    properties->gcnArch = 942;
    properties->cooperativeLaunch = 1;
    properties->ECCEnabled = 1;
    properties->isLargeBar = 1;
    properties->managedMemory = 1;
    return hipSuccess;
  });
}

#if MI300X_HIP_RELEASE >= 6
/// This is the layout since ROCm 6, written by offsets because Debian's header lacks it.
hipError_t hipGetDevicePropertiesR0600(void* properties, int ordinal) {
  return call(__func__, [&] {
    if (!Runtime::instance().valid(ordinal)) return hipErrorInvalidDevice;
    const Machine& machine = Runtime::instance().machine;
    const Device& device = Runtime::instance().device(ordinal);
    char* const bytes = static_cast<char*>(properties);
    std::memset(bytes, 0, 1472);
    put(bytes, 0, machine.name());
    std::memcpy(bytes + 256, machine.uuid(ordinal).c_str(), machine.uuid(ordinal).size());
    put(bytes, 288, std::uint64_t{device.memory_bytes});
    put(bytes, 296, std::uint64_t{shared_bytes});
    put(bytes, 308, 64);
    put(bytes, 348, clock_khz);
    put(bytes, 360, 9);
    put(bytes, 364, 4);
    put(bytes, 388, device.chip.compute_units);
    put(bytes, 584, machine.pci_bus(ordinal));
    put(bytes, 608, memory_clock_khz);
    put(bytes, 612, memory_bus_bits);
    put(bytes, 616, l2_bytes);
    put(bytes, 624, threads_per_unit);
    put(bytes, 640, std::uint64_t{shared_bytes} * static_cast<unsigned>(device.chip.compute_units));
    put(bytes, 1160, std::string(arch_name));
    put(bytes, 1416, std::uint64_t{shared_bytes});
    put(bytes, 1424, wall_clock_khz);
    put(bytes, 1464, 1);
    return hipSuccess;
  });
}

/// Available since HIP 5.3.
hipError_t hipGraphUpload(hipGraphExec_t handle, hipStream_t stream) {
  return device_call(__func__, [&] {
    const bool known = Handles<hipGraphExec>::instance().find(handle) && stream_of(stream);
    return known ? hipSuccess : hipErrorInvalidValue;
  });
}
#endif

#if MI300X_HIP_RELEASE >= 7
/// Available since HIP 6.4. Outside a capture both kinds of record are the same.
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  constexpr unsigned external = 1;
  if (flags > external) return call(__func__, [] { return hipErrorInvalidValue; });
  const hipError_t recorded = hipEventRecord(event, stream);
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  if (recorded != hipSuccess || flags != external ||
      hipStreamIsCapturing(stream, &status) != hipSuccess ||
      status != hipStreamCaptureStatusActive) {
    return recorded;
  }
  hipGraph_t graph = nullptr;
  const hipGraphNode_t* last = nullptr;
  hipGraphNode_t node = nullptr;
  size_t count = 0;
  hipError_t error = hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, &last, &count);
  if (error == hipSuccess) error = hipGraphAddEventRecordNode(&node, graph, last, count, event);
  if (error != hipSuccess) return error;
  return hipStreamUpdateCaptureDependencies(stream, &node, 1, hipStreamSetCaptureDependencies);
}
#endif

}  // extern "C"
