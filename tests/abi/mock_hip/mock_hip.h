// A HIP runtime for tests: two devices whose memory is host memory, streams that run at once, and a
// hipRTC whose code is its source. Kernels are run by whoever loads it. It checks what a real one
// would: ordinals against addresses, handles against what was made, enums against their values.
#pragma once

extern "C" {

/// A kernel the mock may run, as the loading program knows it.
struct MockKernel {
  const void* entry;               ///< handed back to run()
  const unsigned* argument_bytes;  ///< of each parameter: arguments are copied at the launch
  unsigned arguments;
};
struct MockKernels {
  bool (*find)(const char* name, MockKernel* kernel);
  void (*run)(const void* entry, const unsigned grid[3], const unsigned block[3],
              void* const* arguments);
};
void mock_hip_set_kernels(MockKernels kernels);

void mock_hip_set_device_count(int count);
/// The next call of `function` gives `error` and does nothing.
void mock_hip_fail_next(const char* function, int error);
/// Allocations, streams, events, graphs and modules made and not yet released.
int mock_hip_live_objects(void);
/// Priority of the stream made last.
int mock_hip_last_priority(void);

}  // extern "C"
