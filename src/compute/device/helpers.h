// Small conveniences on top of the device interface, for setting up and checking work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

/// Returns whether the device finishes work sized for a real GPU in reasonable time. CPUs and
/// emulated GPUs do not.
inline bool suits_large_work(const DeviceFacts& facts) {
  return facts.is_nvidia() || (facts.is_amd() && !facts.emulated);
}

/// Returns a shape that keeps the whole device busy, for kernels whose speed matters little.
inline LaunchShape filling_shape(const DeviceFacts& facts) {
  const unsigned per_multiprocessor = facts.runs_on_host ? 1 : 8;
  return {{static_cast<unsigned>(facts.multiprocessors) * per_multiprocessor}, {256}};
}

/// Returns how many bytes to write to flush all of the device's caches: twice its last-level cache
/// or, if its size is unknown, twice the largest known one. An emulated device has no cache, and
/// writing to it is slow, so it gets little.
inline std::uint64_t flushing_bytes(const DeviceFacts& facts) {
  if (facts.emulated) return std::uint64_t{8} << 20;
  constexpr std::uint64_t largest_known = std::uint64_t{256} << 20;
  return 2 * (facts.last_level_cache_bytes > 0 ? facts.last_level_cache_bytes : largest_known);
}

/// Captures what `queue()`, which returns a Status, queues on `stream`; nothing runs. Returns the
/// graph. The capture is ended after an error too. Error: queue()'s, else the capture's.
template <typename Queue>
Result<std::unique_ptr<Graph>> captured(Stream& stream, const Queue& queue) {
  TRY(stream.begin_capture());
  const Status queued = queue();
  auto graph = stream.end_capture();
  TRY(queued);
  return graph;
}

/// Copies `count` values of T from device memory to the host and waits for them.
template <typename T>
Result<std::vector<T>> read_back(Stream& stream, const void* source, std::size_t count) {
  std::vector<T> values(count);
  TRY(stream.copy(values.data(), source, count * sizeof(T)));
  TRY(stream.synchronize());
  return values;
}

}  // namespace assay
