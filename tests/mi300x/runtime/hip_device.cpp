// HIP's descriptions of devices: the values of a real MI300X, including the misleading ones.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/runtime.h"

using namespace mi300x::runtime;

namespace {

constexpr int link_xgmi = 4;  // of HSA

/// These attributes are newer than Debian's header.
constexpr int wall_clock_rate = 10017, number_of_xccs = 10018;

/// Returns false for a number that the release does not know.
bool attribute_value(int number, const Device& device, int* value) {
  const int units = device.chip.compute_units;
  switch (number) {
    case hipDeviceAttributeEccEnabled:
    case hipDeviceAttributeCanMapHostMemory:
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeCooperativeLaunch:
    case hipDeviceAttributeCooperativeMultiDeviceLaunch:
    case hipDeviceAttributeManagedMemory:
    case hipDeviceAttributeConcurrentManagedAccess:
    case hipDeviceAttributeUnifiedAddressing:
    case hipDeviceAttributeMemoryPoolsSupported:
    case hipDeviceAttributeStreamPrioritiesSupported:
      *value = 1;
      return true;
    case hipDeviceAttributeIntegrated:
    case hipDeviceAttributeComputeMode:
    case hipDeviceAttributeIsMultiGpuBoard:
    case hipDeviceAttributeKernelExecTimeout:
    case hipDeviceAttributePageableMemoryAccess:
    case hipDeviceAttributeSharedMemPerBlockOptin:  // a number without a meaning on AMD
      *value = 0;
      return true;
    case hipDeviceAttributeAsyncEngineCount:
      *value = 8;
      return true;
    case hipDeviceAttributeClockRate:
      *value = clock_khz;
      return true;
    case hipDeviceAttributeMemoryClockRate:
      *value = memory_clock_khz;
      return true;
    case hipDeviceAttributeMemoryBusWidth:
      *value = memory_bus_bits;
      return true;
    case hipDeviceAttributeL2CacheSize:
      *value = l2_bytes;
      return true;
    case hipDeviceAttributeComputeCapabilityMajor:
      *value = 9;
      return true;
    case hipDeviceAttributeComputeCapabilityMinor:
      *value = 4;
      return true;
    case hipDeviceAttributeMultiprocessorCount:
    case hipDeviceAttributePhysicalMultiProcessorCount:
      *value = units;
      return true;
    case hipDeviceAttributeWarpSize:
      *value = 64;
      return true;
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
      *value = threads_per_block;
      return true;
    case hipDeviceAttributeMaxGridDimX:
      *value = INT_MAX;
      return true;
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ:
      *value = 65536;
      return true;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      *value = threads_per_unit;
      return true;
    case hipDeviceAttributeMaxRegistersPerBlock:
    case hipDeviceAttributeMaxRegistersPerMultiprocessor:
      *value = 65536;
      return true;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
      *value = shared_bytes;
      return true;
    case hipDeviceAttributeSharedMemPerMultiprocessor:  // LDS of all compute units together
      *value = shared_bytes * units;
      return true;
    case hipDeviceAttributeTotalGlobalMem:
      *value = static_cast<int>(std::min<std::uint64_t>(device.memory_bytes, INT_MAX));
      return true;
    case hipDeviceAttributePciBusId:
      *value = Runtime::instance().machine.pci_bus(device.ordinal);
      return true;
    case hipDeviceAttributePciDeviceId:
    case hipDeviceAttributePciDomainID:
      *value = 0;
      return true;
    case hipDeviceAttributeClockInstructionRate:
    case wall_clock_rate:
      *value = wall_clock_khz;
      return number != wall_clock_rate || hip_release >= 6;  // since HIP 5.4
    case number_of_xccs:
      *value = device.chip.dies;
      return hip_release >= 7;
    default:
      return false;
  }
}

}  // namespace

extern "C" {

hipError_t hipInit(unsigned flags) {
  return call(__func__, [&] {
    if (Runtime::instance().devices() == 0) {
      return hip_release >= 6 ? hipErrorNoDevice : hipErrorInvalidDevice;
    }
    return flags == 0 ? hipSuccess : hipErrorInvalidValue;
  });
}

hipError_t hipDriverGetVersion(int* version) {
  return hipRuntimeGetVersion(version);
}

hipError_t hipGetDeviceCount(int* count) {
  return call(__func__, [&] {
    *count = Runtime::instance().devices();
    return *count > 0 ? hipSuccess : hipErrorNoDevice;
  });
}

hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return call(__func__, [&] {
    if (!Runtime::instance().valid(ordinal)) return hipErrorInvalidDevice;
    *device = ordinal;
    return hipSuccess;
  });
}

hipError_t hipSetDevice(int device) {
  return call(__func__, [&] {
    if (!Runtime::instance().valid(device)) return hipErrorInvalidDevice;
    current_device = device;
    return hipSuccess;
  });
}

hipError_t hipGetDevice(int* device) {
  return call(__func__, [&] {
    *device = current_device;
    return hipSuccess;
  });
}

hipError_t hipGetLastError() {
  return std::exchange(last_error, hipSuccess);
}

hipError_t hipPeekAtLastError() {
  return last_error;
}

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  return call(__func__, [&] {
    if (!Runtime::instance().valid(device)) return hipErrorInvalidDevice;
    std::snprintf(name, static_cast<std::size_t>(length), "%s",
                  Runtime::instance().machine.name().c_str());
    return hipSuccess;
  });
}

hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  return call(__func__, [&] {
    if (!Runtime::instance().valid(device)) return hipErrorInvalidDevice;
    *bytes = Runtime::instance().device(device).memory_bytes;
    return hipSuccess;
  });
}

hipError_t hipDeviceGetPCIBusId(char* address, int length, int device) {
  return call(__func__, [&] {
    if (!Runtime::instance().valid(device)) return hipErrorInvalidDevice;
    std::snprintf(address, static_cast<std::size_t>(length), "%s",
                  Runtime::instance().machine.pci_address(device).c_str());
    return hipSuccess;
  });
}

/// Returns the UUID as characters, not as the 16 bytes that they encode.
hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  return call(__func__, [&] {
    if (!Runtime::instance().valid(device)) return hipErrorInvalidDevice;
    std::string text = Runtime::instance().machine.uuid(device);
    text.resize(sizeof uuid->bytes, '\0');
    std::memcpy(uuid->bytes, text.data(), sizeof uuid->bytes);
    return hipSuccess;
  });
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  return call(__func__, [&] {
    if (!Runtime::instance().valid(device)) return hipErrorInvalidDevice;
    int found = 0;
    if (!attribute_value(attribute, Runtime::instance().device(device), &found)) {
      return hipErrorInvalidValue;
    }
    *value = found;
    return hipSuccess;
  });
}

// ---- Peers ----

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return call(__func__, [&] {
    if (!Runtime::instance().valid(device) || !Runtime::instance().valid(peer)) {
      return hipErrorInvalidDevice;
    }
    *can = device != peer;
    return hipSuccess;
  });
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return device_call(__func__, [&] {
    if (flags != 0) return hipErrorInvalidValue;
    if (!Runtime::instance().valid(peer) || peer == current_device) return hipErrorInvalidDevice;
    return Runtime::instance().current().enable_peer(peer) ? hipErrorPeerAccessAlreadyEnabled
                                                           : hipSuccess;
  });
}

hipError_t hipDeviceDisablePeerAccess(int peer) {
  return device_call(__func__, [&] {
    if (!Runtime::instance().valid(peer)) return hipErrorInvalidDevice;
    return Runtime::instance().current().disable_peer(peer) ? hipSuccess
                                                            : hipErrorPeerAccessNotEnabled;
  });
}

hipError_t hipDeviceGetP2PAttribute(int* value, hipDeviceP2PAttr attribute, int from, int to) {
  return call(__func__, [&] {
    const Runtime& runtime = Runtime::instance();
    if (!runtime.valid(from) || !runtime.valid(to) || from == to) return hipErrorInvalidDevice;
    if (value == nullptr || attribute < hipDevP2PAttrPerformanceRank ||
        attribute > hipDevP2PAttrHipArrayAccessSupported) {
      return hipErrorInvalidValue;
    }
    const bool yes = attribute == hipDevP2PAttrAccessSupported ||
                     attribute == hipDevP2PAttrNativeAtomicSupported;
    *value = yes ? 1 : 0;
    return hipSuccess;
  });
}

/// The topology is a full mesh: one hop of xGMI between any two devices.
hipError_t hipExtGetLinkTypeAndHopCount(int from, int to, uint32_t* type, uint32_t* hops) {
  return call(__func__, [&] {
    const Runtime& runtime = Runtime::instance();
    if (!runtime.valid(from) || !runtime.valid(to) || from == to) return hipErrorInvalidDevice;
    if (type == nullptr || hops == nullptr) return hipErrorInvalidValue;
    *type = link_xgmi;
    *hops = 1;
    return hipSuccess;
  });
}

}  // extern "C"
