// Connects a library that computes on the host with the virtual runtime, if the process has one.
// Otherwise, on another mock or NVIDIA's devices, work is done at once and nothing is checked.
#pragma once

#include <cstddef>
#include <functional>

namespace mi300x {

/// Does `work` when `stream` reaches it, and each time a graph that holds it is launched; `seconds`
/// of model time pass. Copies of `work` may outlive the call. Returns a hipError_t.
int enqueue(void* stream, std::function<void()> work, double seconds);

/// Call within such work: stops the device unless all bytes may be read and were written.
void check_read(const void* address, std::size_t bytes);
/// Stops the device unless all bytes may be written, and marks them as written.
void check_write(void* address, std::size_t bytes);

}  // namespace mi300x
