// Memory of the devices, and the host memory that devices may access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "emulator/corruption.h"
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

/// Manages all allocations. Device memory has a separate address range, with a gap after each
/// allocation, so that freed and wild addresses are distinguished from host memory.
class Memory {
 public:
  static Memory& instance();

  /// Memory holds garbage at first, as on a device. Returns null if the device has too little
  /// memory left.
  void* allocate(Device& device, std::size_t bytes, unsigned flags);
  /// Allocates host pages that devices can access. Returns null if the host has too little memory.
  void* allocate_host(std::size_t bytes, MemoryOrigin origin, unsigned flags);
  /// Registers existing memory.
  void announce(const Allocation& allocation);

  /// Frees an allocation or forgets registered memory. Returns false for an unknown address.
  bool release(void* address);

  /// Returns the allocation that contains all of [address, address + bytes).
  std::optional<Allocation> find(const void* address, std::size_t bytes) const;
  /// Returns whether the address belongs to devices, allocated or not.
  bool among_devices(const void* address) const;
  int count() const;
  /// A copy of all allocations of devices.
  std::vector<mi300x::StaleMemory::Piece> copy_of_devices() const;

  /// Moves an allocation into a file that other processes can map. Returns its descriptor, or -1.
  int share(const Allocation& allocation);

 private:
  Memory();
  char* take_range(std::size_t bytes);

  mutable std::mutex mutex_;
  std::map<const char*, Allocation> allocations_;
  std::map<const char*, int> files_;  // keyed by the address of shared allocations
  char *arena_ = nullptr, *next_ = nullptr;
};

/// Copies immediately. Throws Fault (illegal_address) if the memory was freed in the meantime.
void copy_bytes(void* to, const void* from, std::size_t bytes);
/// Fills with a pattern of `width` bytes, `count` times.
void fill_bytes(void* to, const void* pattern, std::size_t width, std::size_t count);

}  // namespace mi300x::runtime
