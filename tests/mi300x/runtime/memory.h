// Memory of the devices, and the host memory that devices may access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "runtime/runtime.h"

namespace mi300x::runtime {

enum class MemoryOrigin { device, pinned, registered, managed, other_process };

struct Allocation {
  char* address = nullptr;
  std::size_t bytes = 0;
  int device = -1;  ///< -1: the host's
  MemoryOrigin origin = MemoryOrigin::device;
  unsigned flags = 0;
};

/// Every allocation. Device memory has an address range of its own, with a gap after each
/// allocation, so that freed and wild addresses are distinguished from host memory.
class Memory {
 public:
  static Memory& instance();

  /// Holds garbage at first, as on a device. Null if the device has too little memory left.
  void* allocate(Device& device, std::size_t bytes, unsigned flags);
  /// Host pages that devices can access. Null if the host has too little memory.
  void* allocate_host(std::size_t bytes, MemoryOrigin origin, unsigned flags);
  /// Announces existing memory.
  void announce(const Allocation& allocation);

  /// Frees an allocation or forgets announced memory. False for an unknown address.
  bool release(void* address);

  /// The allocation that holds all of [address, address + bytes).
  std::optional<Allocation> find(const void* address, std::size_t bytes) const;
  /// Whether the address belongs to devices, allocated or not.
  bool among_devices(const void* address) const;
  int count() const;

  /// Moves an allocation into a file that other processes can map. Returns its descriptor, or -1.
  int share(const Allocation& allocation);

 private:
  Memory();
  char* take_range(std::size_t bytes);

  mutable std::mutex mutex_;
  std::map<const char*, Allocation> allocations_;
  std::map<const char*, int> files_;  // of shared allocations
  char *arena_ = nullptr, *next_ = nullptr;
};

/// Copies at once. Throws Fault (illegal_address) if the memory was freed in the meantime.
void copy_bytes(void* to, const void* from, std::size_t bytes);
/// Fills with a pattern of `width` bytes, `count` times.
void fill_bytes(void* to, const void* pattern, std::size_t width, std::size_t count);

}  // namespace mi300x::runtime
