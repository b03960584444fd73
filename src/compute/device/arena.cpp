#include "compute/device/arena.h"

#include <cstdint>

namespace assay {

Result<void*> Arena::allocate(std::size_t bytes, std::size_t alignment) {
  const auto base = reinterpret_cast<std::uintptr_t>(buffer_.data());
  const std::uintptr_t start = (base + used_ + alignment - 1) & ~(alignment - 1);
  const std::size_t offset = start - base;
  if (offset > capacity() || bytes > capacity() - offset) {
    return Error{ErrorKind::exhausted, "arena: " + std::to_string(bytes) + " bytes requested, " +
                                           std::to_string(capacity() - used_) + " of " +
                                           std::to_string(capacity()) +
                                           " left; make the arena larger"};
  }
  used_ = offset + bytes;
  return reinterpret_cast<void*>(start);
}

}  // namespace assay
