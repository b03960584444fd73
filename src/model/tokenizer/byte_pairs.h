// Byte pair encoding: a piece of text as tokens, by merging neighbours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay {

/// Which two tokens become one, and which of several pairs first.
class BytePairs {
 public:
  /// `token_of_byte`: 256 tokens.
  explicit BytePairs(std::vector<std::int32_t> token_of_byte)
      : token_of_byte_(std::move(token_of_byte)) {}

  /// `left` and `right` become `merged`; pairs added before come first. A pair that is known stays
  /// as it is.
  void add(std::int32_t left, std::int32_t right, std::int32_t merged);

  /// Appends the tokens of `piece` to `to`. Takes O(n log n) time for n bytes.
  void encode(std::string_view piece, std::vector<std::int32_t>& to) const;

 private:
  struct Merge {
    std::uint32_t rank = 0;
    std::int32_t merged = 0;
  };
  const Merge* find(std::int32_t left, std::int32_t right) const;

  std::vector<std::int32_t> token_of_byte_;
  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace assay
