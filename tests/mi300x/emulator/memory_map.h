// The addresses of memory for an emulated kernel. Global addresses are the host's own; LDS and
// scratch have separate apertures for FLAT instructions, far above any host address.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mi300x {

constexpr std::uint64_t shared_aperture = 0x1000000000000, private_aperture = 0x2000000000000;
constexpr std::uint64_t aperture_bytes = 0x100000000;

/// Every allocation that kernels may touch, on all devices, with one bit per byte that tells
/// whether it was ever written. Addresses of freed memory are remembered for a while, so that their
/// use is distinguished from wild addresses. Every device may touch the memory of every other, as
/// over xGMI.
///
/// It is thread-safe, and the checks of kernels take no lock. The allocations are an immutable
/// sorted list; each change makes a new list and increments `version_`. A checking thread keeps the
/// list that it saw last, with shared ownership, and compares versions first. Only after a change
/// does it take the lock, to fetch the new list.
///
/// So a list that a thread still uses is never freed, and a check that happens after an add() or
/// remove() sees it, because it sees the version. A check that finds a fault looks at the newest
/// list again before it reports the fault.
class MemoryMap {
 public:
  static MemoryMap& instance();

  /// Registers host memory [address, address + bytes). `initialised` marks it as written from the
  /// start: code, kernel arguments and memory that the host writes itself (pinned). `what` names
  /// its kind in messages: "device allocation". Throws Fault (illegal_address) if it overlaps
  /// registered memory.
  void add(const void* address, std::size_t bytes, int device, const char* what, bool initialised);
  /// Removes an allocation; kernels that touch it from now on are told that it was freed. Throws
  /// Fault (illegal_address) if no registered memory begins there.
  void remove(const void* address);

  /// Marks bytes of an allocation as written by the host, a copy or a library. Bytes elsewhere,
  /// such as pageable host memory, need no mark.
  void mark_written(const void* address, std::size_t bytes);
  /// Copies the marks of written bytes along with a copy of memory. Host memory outside every
  /// allocation counts as written. The two ranges must not overlap.
  void copy_marks(void* to, const void* from, std::size_t bytes);
  /// Returns whether the range lies in one allocation; `device` becomes its device (-1: host
  /// memory).
  bool find(const void* address, std::size_t bytes, int* device) const;

  /// Checks for kernels. They throw Fault (illegal_address, uninitialised) naming the address, the
  /// nearest allocation and the distance.
  void check_read(std::uint64_t address, std::size_t bytes) const {
    if (!may_read(address, bytes)) refuse_read(address, bytes);
  }
  void check_write(std::uint64_t address, std::size_t bytes) {  ///< also marks the bytes as written
    if (!try_write(address, bytes)) refuse_place("writes", address, bytes);
  }
  /// Checks without a message, for a range of many lanes at once. If it fails, the caller checks
  /// lane by lane to get the fault.
  bool may_read(std::uint64_t address, std::size_t bytes) const;
  bool try_write(std::uint64_t address, std::size_t bytes);  ///< marks nothing if it returns false

 private:
  struct Allocation;
  struct Snapshot;  ///< the allocations, sorted by address
  struct View;      ///< a thread's reference to the newest snapshot it has seen
  struct Freed {
    std::uint64_t begin = 0, bytes = 0;
    std::string what;
  };

  MemoryMap();
  View& view() const;
  const Allocation* allocation_of(std::uint64_t address, std::size_t bytes) const;
  void publish(std::vector<std::shared_ptr<Allocation>> allocations);
  void refuse_read(std::uint64_t address, std::size_t bytes) const;
  [[noreturn]] void refuse_place(const char* verb, std::uint64_t address, std::size_t bytes) const;
  std::string place(std::uint64_t address, std::size_t bytes) const;

  mutable std::mutex mutex_;  ///< guards everything below; the version is read without it
  std::shared_ptr<const Snapshot> newest_;
  std::atomic<std::uint64_t> version_ = 1;
  std::deque<Freed> freed_;  ///< the latest first
};

}  // namespace mi300x
