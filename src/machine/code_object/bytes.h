// A view of the bytes of an untrusted file: every access is checked.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "core/result.h"

namespace assay::occupancy {

class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::string_view text) : text_(text) {}

  std::uint64_t size() const { return text_.size(); }
  std::string_view text() const { return text_; }

  /// Error: usage, naming `what` and the range that it needs.
  Result<Bytes> part(std::uint64_t offset, std::uint64_t bytes, std::string_view what) const;
  /// Returns the bytes from `offset` to the end.
  Result<Bytes> from(std::uint64_t offset, std::string_view what) const;

  /// Returns a little-endian integer.
  template <typename T>
  Result<T> read(std::uint64_t offset, std::string_view what) const {
    static_assert(std::is_integral_v<T>);
    const Bytes bytes = TRY(part(offset, sizeof(T), what));
    T value;
    std::memcpy(&value, bytes.text_.data(), sizeof(T));
    return value;
  }
  /// Returns the text up to the next zero byte, which must exist.
  Result<std::string_view> c_string(std::uint64_t offset, std::string_view what) const;

 private:
  std::string_view text_;
};

/// Returns an error of kind usage, for files that break the rules of their format.
Error malformed(std::string message);

}  // namespace assay::occupancy
