// SHA-256: names cache entries, detects damaged files, tells two sources or environments apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace assay {

class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  /// The digest of everything given so far; the object must not be used afterwards.
  std::array<std::uint8_t, 32> finish();

 private:
  void compress(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> block_{};
  std::size_t used_ = 0;     // bytes waiting in block_
  std::uint64_t total_ = 0;  // bytes given so far
};

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// One hash of several parts; each is preceded by its length, so {"ab", "c"} and {"a", "bc"}
/// differ.
std::string hash_of_parts(std::span<const std::string> parts);

}  // namespace assay
