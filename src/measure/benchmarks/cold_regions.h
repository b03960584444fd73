// Buffers whose parts are used in rotation, so that a part is no longer in a cache when it is used
// again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/device/device.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

/// One allocation cut into equal regions that are used in rotation, so that a region is reused only
/// after all others. With eight regions or more, consecutive ones are so far apart that prefetchers
/// do not reach the next one; with fewer they are neighbours.
class ColdRegions {
 public:
  /// Allocates at least `least_count` regions of `bytes` bytes that together fill at least
  /// `least_total` bytes. Their number is a power of two, so it may be almost twice the least one.
  /// Error: as Device::allocate().
  static Result<ColdRegions> create(Device& device, MemoryKind kind, std::size_t bytes,
                                    std::uint64_t least_total, std::size_t least_count = 2);
  /// The bytes that create() allocates for these arguments.
  static std::uint64_t total_bytes(std::size_t bytes, std::uint64_t least_total,
                                   std::size_t least_count = 2);

  /// Returns the region for turn 0, 1, and so on: the `bytes` of create(), aligned to 256. Turns
  /// may exceed the number of regions.
  std::byte* region(std::uint64_t turn) const;
  const Buffer& whole() const { return buffer_; }
  std::size_t count() const { return count_; }

 private:
  ColdRegions(Buffer buffer, std::size_t stride, std::size_t count);

  Buffer buffer_;
  std::size_t stride_, count_, step_;
};

/// How many bytes a rank must rotate through so that none stay in a cache: flushing_bytes(), twice
/// the last-level cache. If the ranks compute on CPUs, the `ranks_here` ranks of a host share its
/// caches, and each needs only its part of these bytes.
std::uint64_t cold_bytes(const DeviceFacts& facts, int ranks_here);
/// How many ranks of the team run on this rank's host.
int ranks_here(const Team& team);

}  // namespace assay
