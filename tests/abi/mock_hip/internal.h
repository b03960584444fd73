// The mock's state, shared by its files.
#pragma once

#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "mock_hip/mock_hip.h"

namespace mock {

constexpr std::size_t memory_bytes = std::size_t{1} << 30;  // of each device

struct State {
  std::mutex mutex;
  int devices = 2;
  int objects = 0;
  int last_priority = 0;
  std::map<std::string, int> failures;
  std::map<const char*, std::pair<std::size_t, int>> allocations;  // start -> bytes, device
  std::size_t used[8] = {};
  bool peers[8][8] = {};
  MockKernels kernels{};
};

State& state();
extern thread_local int current_device;

/// The error scheduled for `function`, once; hipSuccess otherwise.
hipError_t scheduled(const char* function);
/// The device whose allocation holds all of [address, address + bytes); -1: host memory.
int device_of(const void* address, std::size_t bytes);

}  // namespace mock

/// Begins every function of the runtime.
#define MOCK_CALL \
  if (const hipError_t failure = mock::scheduled(__func__)) return failure
