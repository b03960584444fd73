// Devices: MI300Xs, as HIP describes them.
#include <cstdio>
#include <cstring>

#include "mock_hip/internal.h"

using mock::state;

namespace {

bool valid(int device) {
  return device >= 0 && device < state().devices;
}

constexpr const char* arch = "gfx942:sramecc+:xnack-";

}  // namespace

extern "C" {

hipError_t hipGetDeviceCount(int* count) {
  MOCK_CALL;
  *count = state().devices;
  return *count > 0 ? hipSuccess : hipErrorNoDevice;
}

hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  MOCK_CALL;
  if (!valid(ordinal)) return hipErrorInvalidDevice;
  *device = ordinal;
  return hipSuccess;
}

hipError_t hipSetDevice(int device) {
  MOCK_CALL;
  if (!valid(device)) return hipErrorInvalidDevice;
  mock::current_device = device;
  return hipSuccess;
}

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  MOCK_CALL;
  std::snprintf(name, static_cast<std::size_t>(length), "Mock Instinct %d", device);
  return hipSuccess;
}

hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t) {
  MOCK_CALL;
  *bytes = mock::memory_bytes;
  return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char* address, int length, int device) {
  MOCK_CALL;
  std::snprintf(address, static_cast<std::size_t>(length), "0000:F%d:00.0", device);
  return hipSuccess;
}

/// Characters on device 0; device 1 has no identity, which HSA says with "XX".
hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  MOCK_CALL;
  std::memcpy(uuid->bytes, device == 0 ? "5d1a2b3c4d5e6f70" : "XX\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
  return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  MOCK_CALL;
  if (!valid(device)) return hipErrorInvalidDevice;
  switch (attribute) {
    case hipDeviceAttributeEccEnabled:
      *value = 1;
      break;
    case hipDeviceAttributeClockRate:
      *value = 2100000;
      break;
    case hipDeviceAttributeMemoryClockRate:
      *value = 1300000;
      break;
    case hipDeviceAttributeMemoryBusWidth:
      *value = 8192;
      break;
    case hipDeviceAttributeL2CacheSize:
      *value = 4 << 20;
      break;
    case hipDeviceAttributeMultiprocessorCount:
      *value = 304;
      break;
    case hipDeviceAttributeWarpSize:
      *value = 64;
      break;
    case hipDeviceAttributeMaxThreadsPerBlock:
      *value = 1024;
      break;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      *value = 65536;
      break;
    default:
      return hipErrorInvalidValue;
  }
  return hipSuccess;
}

// HIP 6 has both symbols, and the plain one still fills the old layout.
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  if (!valid(device)) return hipErrorInvalidDevice;
  char* bytes = reinterpret_cast<char*>(properties);
  std::memset(bytes, 0, 792);
  std::strcpy(bytes + 396, MOCK_HIP_RELEASE >= 6 ? "wrong layout" : arch);
  return hipSuccess;
}

#if MOCK_HIP_RELEASE >= 6
__attribute__((visibility("default"))) hipError_t hipGetDevicePropertiesR0600(void* properties,
                                                                              int device) {
  if (!valid(device)) return hipErrorInvalidDevice;
  char* bytes = static_cast<char*>(properties);
  std::memset(bytes, 0, 1472);
  std::strcpy(bytes + 1160, arch);
  return hipSuccess;
}
#endif

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  MOCK_CALL;
  if (!valid(device) || !valid(peer)) return hipErrorInvalidDevice;
  *can = device != peer;
  return hipSuccess;
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned int flags) {
  MOCK_CALL;
  if (!valid(peer) || peer == mock::current_device || flags != 0) return hipErrorInvalidDevice;
  bool& enabled = state().peers[mock::current_device][peer];
  if (enabled) return hipErrorPeerAccessAlreadyEnabled;
  enabled = true;
  return hipSuccess;
}

}  // extern "C"
