// The addresses of memory for an emulated kernel. Global addresses are the host's own; LDS and
// scratch have apertures of their own for FLAT instructions, far above any host address.
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

/// Every allocation that kernels may touch, of all devices, with one bit per byte that says whether
/// it was ever written. Addresses of freed memory stay known for a while, so that their use is told
/// from a wild one. Every device may touch the memory of every other, as over xGMI.
///
/// Thread-safe; the checks of kernels take no lock. The allocations are an immutable sorted list;
/// each change makes a new one and counts `version_` up. A thread that checks keeps the list that
/// it saw last, with shared ownership, and compares versions first: only after a change does it
/// take the lock, to fetch the new list. What a thread still looks at is therefore never freed,
/// and a check that follows an add() or remove() in the order of events sees it, since it sees the
/// version. A check that finds a fault looks once more at the newest list before it says so.
class MemoryMap {
 public:
  static MemoryMap& instance();

  /// Announces host memory [address, address + bytes). `initialised`: code, kernel arguments and
  /// memory that the host writes by itself (pinned) count as written from the start. `what` names
  /// its kind in messages: "device allocation". Throws Fault (illegal_address) if it overlaps
  /// memory that is announced already.
  void add(const void* address, std::size_t bytes, int device, const char* what, bool initialised);
  /// Forgets it; kernels that touch it from now on are told that it was freed. Throws Fault
  /// (illegal_address) if no announced memory begins there.
  void remove(const void* address);

  /// The host, a copy or a library wrote these bytes of an allocation. Bytes elsewhere, as of
  /// pageable host memory, need no mark.
  void mark_written(const void* address, std::size_t bytes);
  /// A copy of memory takes along which bytes were ever written. Host memory outside of every
  /// allocation counts as written. The two must not overlap.
  void copy_marks(void* to, const void* from, std::size_t bytes);
  /// Whether all of it lies in one allocation; `device` becomes its device (-1: host memory).
  bool find(const void* address, std::size_t bytes, int* device) const;

  /// For kernels. Throw Fault (illegal_address, uninitialised) naming the address, the allocation
  /// nearest to it and the distance.
  void check_read(std::uint64_t address, std::size_t bytes) const {
    if (!may_read(address, bytes)) refuse_read(address, bytes);
  }
  void check_write(std::uint64_t address, std::size_t bytes) {  ///< and marks it as written
    if (!try_write(address, bytes)) refuse_place("writes", address, bytes);
  }
  /// The same without a message, for a range of many lanes at once: if it must not be touched, the
  /// caller asks lane by lane for the fault.
  bool may_read(std::uint64_t address, std::size_t bytes) const;
  bool try_write(std::uint64_t address, std::size_t bytes);  ///< marks nothing if it gives false

 private:
  struct Allocation;
  struct Snapshot;  ///< the allocations, sorted by address
  struct View;      ///< a thread's own hold on the newest snapshot it has seen
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

  mutable std::mutex mutex_;  ///< of all below but the version, which readers look at without it
  std::shared_ptr<const Snapshot> newest_;
  std::atomic<std::uint64_t> version_ = 1;
  std::deque<Freed> freed_;  ///< the latest first
};

}  // namespace mi300x
