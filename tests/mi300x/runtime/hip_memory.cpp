// HIP's allocations and its queries about addresses.
#include <algorithm>
#include <cstring>

#include "runtime/memory.h"
#include "runtime/stream.h"

using namespace mi300x::runtime;

namespace {

constexpr unsigned host_flags = hipHostMallocPortable | hipHostMallocMapped |
                                hipHostMallocWriteCombined | hipHostMallocNumaUser |
                                hipHostMallocCoherent | hipHostMallocNonCoherent;

hipError_t allocate(void** address, std::size_t bytes, unsigned flags) {
  if (const hipError_t forbidden = forbidden_by_capture()) return forbidden;
  if (address == nullptr) return hipErrorInvalidValue;
  *address = nullptr;
  if (bytes == 0) return hipSuccess;
  *address = Memory::instance().allocate(Runtime::instance().current(), bytes, flags);
  return *address != nullptr ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t allocate_host(void** address, std::size_t bytes, MemoryOrigin origin, unsigned flags) {
  if (const hipError_t forbidden = forbidden_by_capture()) return forbidden;
  if (address == nullptr) return hipErrorInvalidValue;
  *address = nullptr;
  if (bytes == 0) return hipSuccess;
  *address = Memory::instance().allocate_host(bytes, origin, flags);
  return *address != nullptr ? hipSuccess : hipErrorOutOfMemory;
}

/// Frees memory of this origin once all devices that may use it are idle.
template <typename Fits>
hipError_t release(void* address, const Fits& fits) {
  if (const hipError_t forbidden = forbidden_by_capture()) return forbidden;
  if (address == nullptr) return hipSuccess;
  const auto allocation = Memory::instance().find(address, 1);
  if (!allocation || allocation->address != address || !fits(allocation->origin)) {
    return hipErrorInvalidValue;
  }
  for (int i = 0; i < Runtime::instance().devices(); ++i) {
    const bool used_there = allocation->device < 0 || allocation->device == i;
    if (!used_there) continue;
    for (const auto& stream : Runtime::instance().device(i).streams()) stream->drain();
  }
  return Memory::instance().release(address) ? hipSuccess : hipErrorInvalidValue;
}

bool is_device(MemoryOrigin origin) {
  return origin == MemoryOrigin::device || origin == MemoryOrigin::managed;
}

/// ROCm 6 changed the numbers of hipMemoryType.
int type_number(MemoryOrigin origin) {
  switch (origin) {
    case MemoryOrigin::device:
    case MemoryOrigin::other_process:
      return hip_release >= 6 ? 2 : 1;
    case MemoryOrigin::managed:
      return hip_release >= 6 ? 3 : 4;
    default:
      return hip_release >= 6 ? 1 : 0;
  }
}

}  // namespace

extern "C" {

hipError_t hipMalloc(void** address, size_t bytes) {
  return device_call(__func__, [&] { return allocate(address, bytes, 0); });
}

hipError_t hipExtMallocWithFlags(void** address, size_t bytes, unsigned flags) {
  return device_call(__func__, [&] {
    constexpr unsigned uncached = 3;
    if (flags > uncached) return hipErrorInvalidValue;
    return allocate(address, bytes, flags);
  });
}

hipError_t hipFree(void* address) {
  return call(__func__, [&] { return release(address, is_device); });
}

/// The memory is available at once. Using it before the stream reaches this call is a race on a
/// real device, too.
hipError_t hipMallocAsync(void** address, size_t bytes, hipStream_t handle) {
  return device_call(__func__, [&] {
    const auto stream = stream_of(handle);
    if (!stream || address == nullptr) return hipErrorInvalidValue;
    *address = bytes == 0 ? nullptr : Memory::instance().allocate(stream->device, bytes, 0);
    return *address != nullptr || bytes == 0 ? hipSuccess : hipErrorOutOfMemory;
  });
}

hipError_t hipFreeAsync(void* address, hipStream_t stream) {
  return device_call(__func__, [&] {
    const auto allocation = Memory::instance().find(address, 1);
    if (!allocation || allocation->address != address ||
        allocation->origin != MemoryOrigin::device) {
      return hipErrorInvalidValue;
    }
    return submit(stream, [address](double start) {
      Memory::instance().release(address);
      return start;
    });
  });
}

hipError_t hipMallocManaged(void** address, size_t bytes, unsigned flags) {
  return device_call(__func__, [&] {
    if (flags != hipMemAttachGlobal && flags != hipMemAttachHost) return hipErrorInvalidValue;
    return allocate_host(address, bytes, MemoryOrigin::managed, flags);
  });
}

hipError_t hipHostMalloc(void** address, size_t bytes, unsigned flags) {
  return device_call(__func__, [&] {
    if ((flags & ~host_flags) != 0) return hipErrorInvalidValue;
    return allocate_host(address, bytes, MemoryOrigin::pinned, flags);
  });
}

hipError_t hipHostFree(void* address) {
  return call(__func__, [&] {
    return release(address, [](MemoryOrigin origin) { return origin == MemoryOrigin::pinned; });
  });
}

hipError_t hipHostRegister(void* address, size_t bytes, unsigned flags) {
  return device_call(__func__, [&] {
    if (address == nullptr || bytes == 0) return hipErrorInvalidValue;
    if (Memory::instance().find(address, 1)) return hipErrorHostMemoryAlreadyRegistered;
    Memory::instance().announce(
        {static_cast<char*>(address), bytes, -1, MemoryOrigin::registered, flags});
    return hipSuccess;
  });
}

hipError_t hipHostUnregister(void* address) {
  return call(__func__, [&] {
    const hipError_t error =
        release(address, [](MemoryOrigin origin) { return origin == MemoryOrigin::registered; });
    return error == hipErrorInvalidValue ? hipErrorHostMemoryNotRegistered : error;
  });
}

hipError_t hipHostGetDevicePointer(void** device_address, void* address, unsigned) {
  return device_call(__func__, [&] {
    const auto allocation = Memory::instance().find(address, 1);
    if (!allocation || allocation->device >= 0) return hipErrorInvalidValue;
    *device_address = address;
    return hipSuccess;
  });
}

hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  return device_call(__func__, [&] {
    const Device& device = Runtime::instance().current();
    if (total != nullptr) *total = device.memory_bytes;
    if (free != nullptr) *free = device.memory_bytes - device.used;
    return hipSuccess;
  });
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes, hipDeviceptr_t address) {
  return device_call(__func__, [&] {
    const auto allocation = Memory::instance().find(address, 1);
    if (!allocation) return hipErrorNotFound;
    if (base != nullptr) *base = allocation->address;
    if (bytes != nullptr) *bytes = allocation->bytes;
    return hipSuccess;
  });
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* address) {
  return device_call(__func__, [&] {
    if (attributes == nullptr || address == nullptr) return hipErrorInvalidValue;
    *attributes = {};
    const auto allocation = Memory::instance().find(address, 1);
    if (!allocation) {  // since ROCm 6: success, and the type "unregistered", 0
      return hip_release >= 6 ? hipSuccess : hipErrorInvalidValue;
    }
    const int type = type_number(allocation->origin);
    std::memcpy(&attributes->memoryType, &type, sizeof type);
    attributes->device = std::max(allocation->device, 0);
    attributes->devicePointer = const_cast<void*>(address);
    const bool host = allocation->device < 0;
    attributes->hostPointer = host ? const_cast<void*>(address) : nullptr;
    attributes->isManaged = allocation->origin == MemoryOrigin::managed;
    attributes->allocationFlags = allocation->flags;
    return hipSuccess;
  });
}

}  // extern "C"
