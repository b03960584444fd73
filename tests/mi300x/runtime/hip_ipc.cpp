// Device memory of another process: its pages become those of a file that both processes map.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "runtime/memory.h"
#include "runtime/stream.h"

using namespace mi300x::runtime;

namespace {

/// The contents of a handle's 64 bytes.
struct Shared {
  pid_t process;
  int file, device;
  std::size_t bytes;
};
static_assert(sizeof(Shared) <= sizeof(hipIpcMemHandle_t));

}  // namespace

extern "C" {

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* address) {
  return device_call(__func__, [&] {
    const auto allocation = Memory::instance().find(address, 1);
    if (handle == nullptr || !allocation || allocation->address != address ||
        allocation->origin != MemoryOrigin::device) {
      return hipErrorInvalidValue;
    }
    for (const auto& stream : Runtime::instance().device(allocation->device).streams()) {
      stream->drain();
    }
    const int file = Memory::instance().share(*allocation);
    if (file < 0) return hipErrorOutOfMemory;
    const Shared shared = {::getpid(), file, allocation->device, allocation->bytes};
    *handle = {};
    std::memcpy(handle, &shared, sizeof shared);
    return hipSuccess;
  });
}

hipError_t hipIpcOpenMemHandle(void** address, hipIpcMemHandle_t handle, unsigned flags) {
  return device_call(__func__, [&] {
    Shared shared;
    std::memcpy(&shared, &handle, sizeof shared);
    const unsigned peer_access = hip_release >= 6 ? 1 : 0;  // HIP 6 changed the flag's number
    if (address == nullptr || flags != peer_access) return hipErrorInvalidValue;
    if (shared.process == ::getpid()) return hipErrorInvalidContext;  // as in HIP
    const std::string path = fmt::format("/proc/{}/fd/{}", shared.process, shared.file);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return hipErrorInvalidHandle;
    void* const pages = ::mmap(nullptr, shared.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (pages == MAP_FAILED) return hipErrorMapFailed;
    Memory::instance().announce(
        {static_cast<char*>(pages), shared.bytes, shared.device, MemoryOrigin::other_process, 0});
    *address = pages;
    return hipSuccess;
  });
}

hipError_t hipIpcCloseMemHandle(void* address) {
  return call(__func__, [&] {
    const auto allocation = Memory::instance().find(address, 1);
    if (!allocation || allocation->address != address ||
        allocation->origin != MemoryOrigin::other_process) {
      return hipErrorInvalidValue;
    }
    return Memory::instance().release(address) ? hipSuccess : hipErrorInvalidValue;
  });
}

}  // extern "C"
