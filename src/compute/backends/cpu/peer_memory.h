// Host memory that other processes can map, by way of a file without a name.
#pragma once

#include <map>
#include <string>

#include "compute/device/device.h"
#include "core/mutex.h"

namespace assay::cpu {

/// Must outlive the buffers that it allocates.
class PeerMemory {
 public:
  /// Zeroed. Error: exhausted, with the system's reason.
  Result<Buffer> allocate(std::size_t bytes);
  /// Error: usage, if `buffer` is not from here.
  Result<std::string> share(const Buffer& buffer);
  /// What share() in this or another process gave. Error: failed, if it cannot be mapped.
  static Result<Buffer> open(const std::string& text);

 private:
  static void release(void* owner, void* address, std::size_t bytes);

  Mutex mutex_;
  std::map<void*, int> files_ GUARDED_BY(mutex_);  // by address
};

}  // namespace assay::cpu
