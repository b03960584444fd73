// Streams, events, graphs, modules: work runs at once, or is kept while a stream is captured.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include "mock_hip/internal.h"

using Clock = std::chrono::steady_clock;
using Work = std::function<void()>;

struct ihipStream_t {
  std::optional<std::vector<Work>> captured;
};
struct ihipEvent_t {
  std::optional<Clock::time_point> recorded;
};
struct ihipGraph {
  std::vector<Work> work;
};
struct hipGraphExec {
  std::vector<Work> work;
};
struct ihipModule_t {
  std::string image;
};
struct ihipModuleSymbol_t {
  MockKernel kernel;
};

namespace {

std::vector<std::unique_ptr<ihipModuleSymbol_t>>& symbols() {
  static std::vector<std::unique_ptr<ihipModuleSymbol_t>> all;
  return all;
}

hipError_t submit(hipStream_t stream, Work work) {
  if (stream == nullptr) return hipErrorInvalidHandle;
  if (stream->captured) {
    stream->captured->push_back(std::move(work));
  } else {
    work();
  }
  return hipSuccess;
}

template <typename Object>
hipError_t make(Object** out, Object* made) {
  *out = made;
  ++mock::state().objects;
  return hipSuccess;
}

template <typename Object>
hipError_t destroy(Object* object) {
  if (object == nullptr) return hipErrorInvalidHandle;
  delete object;
  --mock::state().objects;
  return hipSuccess;
}

}  // namespace

extern "C" {

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  MOCK_CALL;
  *least = 1;
  *greatest = -1;
  return hipSuccess;
}

hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags, int priority) {
  MOCK_CALL;
  if (flags != hipStreamNonBlocking || priority < -1 || priority > 1) return hipErrorInvalidValue;
  mock::state().last_priority = priority;
  return make(stream, new ihipStream_t);
}

hipError_t hipStreamDestroy(hipStream_t stream) {
  MOCK_CALL;
  return destroy(stream);
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  MOCK_CALL;
  return stream->captured ? hipErrorStreamCaptureUnsupported : hipSuccess;
}

hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags) {
  MOCK_CALL;
  return stream != nullptr && event != nullptr && flags == 0 ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream) {
  MOCK_CALL;
  if (kind != hipMemcpyDefault) return hipErrorInvalidMemcpyDirection;
  return submit(stream, [=] { std::memmove(to, from, bytes); });
}

hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                              size_t bytes, hipStream_t stream) {
  MOCK_CALL;
  if (mock::device_of(to, bytes) != to_device || mock::device_of(from, bytes) != from_device) {
    return hipErrorInvalidValue;
  }
  return submit(stream, [=] { std::memmove(to, from, bytes); });
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t bytes,
                            hipStream_t stream) {
  MOCK_CALL;
  return submit(stream, [=] { std::memset(to, value, bytes); });
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  MOCK_CALL;
  if (mode != hipStreamCaptureModeRelaxed || stream->captured) return hipErrorInvalidValue;
  stream->captured.emplace();
  return hipSuccess;
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  MOCK_CALL;
  if (!stream->captured) return hipErrorStreamCaptureUnmatched;
  const hipError_t made = make(graph, new ihipGraph{std::move(*stream->captured)});
  stream->captured.reset();
  return made;
}

hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph, hipGraphNode_t*, char* log,
                               size_t log_bytes) {
  MOCK_CALL;
  if (log != nullptr || log_bytes != 0) return hipErrorInvalidValue;
  return make(exec, new hipGraphExec{graph->work});
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  MOCK_CALL;
  for (const Work& work : exec->work) {
    if (const hipError_t failure = submit(stream, work)) return failure;
  }
  return hipSuccess;
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  MOCK_CALL;
  return destroy(graph);
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  MOCK_CALL;
  return destroy(exec);
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  MOCK_CALL;
  return flags == hipEventDefault ? make(event, new ihipEvent_t) : hipErrorInvalidValue;
}

hipError_t hipEventDestroy(hipEvent_t event) {
  MOCK_CALL;
  return destroy(event);
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  MOCK_CALL;
  return submit(stream, [=] { event->recorded = Clock::now(); });
}

hipError_t hipEventSynchronize(hipEvent_t) {
  MOCK_CALL;
  return hipSuccess;
}

hipError_t hipEventQuery(hipEvent_t event) {
  MOCK_CALL;
  return event->recorded ? hipSuccess : hipErrorNotReady;
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t end) {
  MOCK_CALL;
  if (!start->recorded || !end->recorded) return hipErrorInvalidHandle;
  *milliseconds =
      std::chrono::duration<float, std::milli>(*end->recorded - *start->recorded).count();
  return hipSuccess;
}

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  MOCK_CALL;
  const char* text = static_cast<const char*>(image);
  if (std::strncmp(text, "MOCK CODE\n", 10) != 0) return hipErrorInvalidImage;
  return make(module, new ihipModule_t{text});
}

hipError_t hipModuleUnload(hipModule_t module) {
  MOCK_CALL;
  return destroy(module);
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t, const char* name) {
  MOCK_CALL;
  auto symbol = std::make_unique<ihipModuleSymbol_t>();
  if (!mock::state().kernels.find(name, &symbol->kernel)) return hipErrorNotFound;
  *function = symbol.get();
  symbols().push_back(std::move(symbol));
  return hipSuccess;
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t) {
  MOCK_CALL;
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = 4096;
      break;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = 16;
      break;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 48;
      break;
    default:
      return hipErrorInvalidValue;
  }
  return hipSuccess;
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t,
                                                              int block_threads,
                                                              size_t dynamic_bytes) {
  MOCK_CALL;
  if (block_threads <= 0 || block_threads > 1024) return hipErrorInvalidValue;
  *blocks = 2048 / block_threads;
  if (dynamic_bytes > 0) *blocks = std::min(*blocks, static_cast<int>(65536 / dynamic_bytes));
  return hipSuccess;
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y,
                                 unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                 unsigned int block_z, unsigned int, hipStream_t stream,
                                 void** arguments, void** extra) {
  MOCK_CALL;
  if (extra != nullptr || block_x * block_y * block_z > 1024 || grid_x == 0) {
    return hipErrorInvalidValue;
  }
  const MockKernel kernel = function->kernel;
  std::vector<std::vector<char>> values;  // copied now, as a real launch does
  for (unsigned i = 0; i < kernel.arguments; ++i) {
    const char* value = static_cast<const char*>(arguments[i]);
    values.emplace_back(value, value + kernel.argument_bytes[i]);
  }
  return submit(stream, [=]() mutable {
    std::vector<void*> pointers;
    for (std::vector<char>& value : values) pointers.push_back(value.data());
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    mock::state().kernels.run(kernel.entry, grid, block, pointers.data());
  });
}

}  // extern "C"
