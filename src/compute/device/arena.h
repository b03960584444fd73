// Sub-allocation of many tensors from one allocation: a bump pointer with marks to return to.
#pragma once

#include <cstddef>
#include <string>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

class Arena {
 public:
  static constexpr std::size_t default_alignment = 256;  // bytes; full coalescing on every GPU

  explicit Arena(Buffer buffer) : buffer_(std::move(buffer)) {}

  /// Returns `bytes` bytes aligned to `alignment` (a power of two). They are valid until
  /// release_to() is called with a lower mark. Error: exhausted, naming the bytes requested and
  /// left.
  Result<void*> allocate(std::size_t bytes, std::size_t alignment = default_alignment);

  /// The current height; pass it to release_to() to free everything allocated since.
  std::size_t mark() const { return used_; }
  void release_to(std::size_t mark) { used_ = mark < used_ ? mark : used_; }

  std::size_t capacity() const { return buffer_.bytes(); }
  std::size_t used() const { return used_; }

 private:
  Buffer buffer_;
  std::size_t used_ = 0;
};

}  // namespace assay
