// Host memory that other processes can map, backed by a file without a name.
#pragma once

#include <map>
#include <string>

#include "compute/device/device.h"
#include "core/mutex.h"

namespace assay::cpu {

/// Allocates shareable buffers; must outlive them.
class PeerMemory {
 public:
  /// Returns zeroed memory; an empty buffer for 0 bytes. Error: exhausted, with the system's
  /// reason.
  Result<Buffer> allocate(std::size_t bytes);
  /// Returns a text for open(), valid while `buffer` lives. Error: usage if `buffer` was not
  /// allocated by this object.
  Result<std::string> share(const Buffer& buffer);
  /// Maps the buffer that share() described in another process of this user; in the same process,
  /// returns the buffer's own address. Error: failed if `text` is not from share(), or the buffer
  /// cannot be mapped.
  static Result<Buffer> open(const std::string& text);

 private:
  static void release(void* owner, void* address, std::size_t bytes);

  Mutex mutex_;
  std::map<void*, int> files_ GUARDED_BY(mutex_);  // descriptors by the memory's address
};

}  // namespace assay::cpu
