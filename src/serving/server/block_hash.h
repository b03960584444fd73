// Splits prompts into the blocks of 16 tokens that the prefix cache knows. A block is identified by
// the hash of itself and everything before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::server {

inline constexpr std::uint64_t block_tokens = 16;

/// One hash for each full block of `tokens`. Equal prompts share hashes up to where they differ.
std::vector<std::uint64_t> block_hashes(std::span<const std::uint32_t> tokens);

/// Number of blocks needed for `tokens`.
constexpr std::uint64_t blocks_for(std::uint64_t tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}

}  // namespace assay::server
