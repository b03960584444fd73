// A device that knows all memory that is allocated from it, and every operation that is queued on
// its streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "compute/device/forwarding_device.h"

namespace assay::health {

struct WatchedBuffer {
  std::size_t number = 0;  ///< allocations are numbered from 1
  void* address = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::device;

  std::uint64_t begin() const { return reinterpret_cast<std::uintptr_t>(address); }
};

/// What is watched; it must outlive the watched device, its streams and all memory from it. Only
/// one thread may use these at a time.
class Watch {
 public:
  /// Called with the device's own stream after each operation is queued: a kernel, a copy, a fill,
  /// a call of the host or of a library, or a whole graph. What a library queued on the stream's
  /// handle is one operation that ends with the next use of the stream. Null: nobody asks.
  std::function<Status(Stream& stream, const std::string& name)> after_operation;
  /// Called before memory is filled with one value.
  std::function<void(void* address, std::uint8_t value, std::size_t bytes)> before_fill;

  std::vector<WatchedBuffer> buffers() const;  ///< those that are allocated, by number
  /// Returns whether a library, whose bits may differ every time, was called since the watch began.
  bool called_library() const { return called_library_; }
  /// While after_operation is called: returns whether the operation is, or holds, a library's call.
  /// It does not see those of a graph that was captured before.
  bool is_of_library() const { return in_library_; }

 private:
  friend class WatchedDevice;
  friend class WatchedStream;

  struct Allocation {
    WatchedBuffer what;
    Buffer memory;
  };
  static void release(void* watch, void* address, std::size_t bytes);

  std::map<void*, Allocation> allocations_;
  KernelNames kernels_;
  std::size_t allocated_ = 0;
  bool capturing_ = false;
  bool called_library_ = false, in_library_ = false;
};

/// Returns a device that forwards to `device` and is watched. New memory holds zeros, so that work
/// that reads more than it wrote gives the same bits too. The facts have the same UUID for all
/// devices. So GPUs of a kind share what is chosen by measuring (ChoiceCache), since other
/// algorithms give other bits. All arguments must outlive the result.
std::unique_ptr<Device> watched_device(Device& device, Watch& watch);

}  // namespace assay::health
