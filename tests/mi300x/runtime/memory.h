// Memory of the devices and of the host, as far as devices may touch it.
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

/// Every allocation. Device memory lies in one range of addresses of its own, with a gap behind
/// each allocation, so that what is no longer or never was memory is told from the host's.
class Memory {
 public:
  static Memory& instance();

  /// Garbage at first, as on the device. Null if the device has not as much left.
  void* allocate(Device& device, std::size_t bytes, unsigned flags);
  /// Pages of the host that devices can reach. Null if the host has not as much.
  void* allocate_host(std::size_t bytes, MemoryOrigin origin, unsigned flags);
  /// Memory that is there already.
  void announce(const Allocation& allocation);

  /// Gives back what `allocate` gave, or forgets what was announced. False if it is not known.
  bool release(void* address);

  /// The allocation that holds all of [address, address + bytes).
  std::optional<Allocation> find(const void* address, std::size_t bytes) const;
  /// Whether the address belongs to devices, allocated or not.
  bool among_devices(const void* address) const;
  int count() const;

  /// Makes the pages of an allocation those of a file, for other processes. The file's descriptor,
  /// or -1.
  int share(const Allocation& allocation);

 private:
  Memory();
  char* take_range(std::size_t bytes);

  mutable std::mutex mutex_;
  std::map<const char*, Allocation> allocations_;
  std::map<const char*, int> files_;  // of shared allocations
  char *arena_ = nullptr, *next_ = nullptr;
};

/// Copies now. Throws Fault (illegal_address) where the memory is gone meanwhile.
void copy_bytes(void* to, const void* from, std::size_t bytes);
/// Fills with a pattern of `width` bytes, `count` times.
void fill_bytes(void* to, const void* pattern, std::size_t width, std::size_t count);

}  // namespace mi300x::runtime
