#include <cstdlib>
#include <cstring>

#include "mock_hip/internal.h"

namespace mock {

thread_local int current_device = 0;

State& state() {
  static State the_state;
  return the_state;
}

hipError_t scheduled(const char* function) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.failures.find(function);
  if (found == s.failures.end()) return hipSuccess;
  const auto error = static_cast<hipError_t>(found->second);
  s.failures.erase(found);
  return error;
}

int device_of(const void* address, std::size_t bytes) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const char* begin = static_cast<const char*>(address);
  auto after = s.allocations.upper_bound(begin);
  if (after == s.allocations.begin()) return -1;
  const auto& [start, allocation] = *--after;
  return begin + bytes <= start + allocation.first ? allocation.second : -1;
}

}  // namespace mock

using mock::state;

extern "C" {

void mock_hip_set_kernels(MockKernels kernels) {
  state().kernels = kernels;
}
void mock_hip_set_device_count(int count) {
  state().devices = count;
}
void mock_hip_fail_next(const char* function, int error) {
  state().failures[function] = error;
}
int mock_hip_live_objects(void) {
  return state().objects;
}
int mock_hip_last_priority(void) {
  return state().last_priority;
}

hipError_t hipInit(unsigned int flags) {
  MOCK_CALL;
  return flags == 0 ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipRuntimeGetVersion(int* version) {
  *version = MOCK_HIP_RELEASE * 10000000 + 200000 + 345;
  return hipSuccess;
}

const char* hipGetErrorName(hipError_t error) {
  switch (error) {
    case hipSuccess:
      return "hipSuccess";
    case hipErrorInvalidValue:
      return "hipErrorInvalidValue";
    case hipErrorOutOfMemory:
      return "hipErrorOutOfMemory";
    case hipErrorNoDevice:
      return "hipErrorNoDevice";
    case hipErrorInvalidDevice:
      return "hipErrorInvalidDevice";
    case hipErrorNotFound:
      return "hipErrorNotFound";
    case hipErrorNotReady:
      return "hipErrorNotReady";
    case hipErrorLaunchFailure:
      return "hipErrorLaunchFailure";
    case hipErrorInvalidImage:
      return "hipErrorInvalidImage";
    default:
      return "hipErrorUnknown";
  }
}

const char* hipGetErrorString(hipError_t error) {
  return hipGetErrorName(error);
}

hipError_t hipMalloc(void** address, size_t bytes) {
  MOCK_CALL;
  mock::State& s = state();
  const std::lock_guard lock(s.mutex);
  std::size_t& used = s.used[mock::current_device];
  if (used + bytes > mock::memory_bytes) return hipErrorOutOfMemory;
  *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  s.allocations[static_cast<char*>(*address)] = {bytes, mock::current_device};
  used += bytes;
  ++s.objects;
  return hipSuccess;
}

hipError_t hipFree(void* address) {
  MOCK_CALL;
  mock::State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.allocations.find(static_cast<char*>(address));
  if (found == s.allocations.end()) return hipErrorInvalidValue;
  s.used[found->second.second] -= found->second.first;
  s.allocations.erase(found);
  std::free(address);
  --s.objects;
  return hipSuccess;
}

hipError_t hipHostMalloc(void** address, size_t bytes, unsigned int flags) {
  MOCK_CALL;
  if (flags != (hipHostMallocPortable | hipHostMallocMapped)) return hipErrorInvalidValue;
  *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  ++state().objects;
  return hipSuccess;
}

hipError_t hipHostFree(void* address) {
  MOCK_CALL;
  std::free(address);
  --state().objects;
  return hipSuccess;
}

hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  MOCK_CALL;
  *total = mock::memory_bytes;
  *free = *total - state().used[mock::current_device];
  return hipSuccess;
}

}  // extern "C"
