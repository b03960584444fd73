#include "serving/simulator/block_hash.h"

#include <algorithm>
#include <cstring>

#include "core/random.h"

namespace assay::simulator {

std::vector<std::uint64_t> block_hashes(std::span<const std::uint32_t> tokens) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(tokens.size() / block_tokens);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    hash = Random(hash ^ tokens[i]).next();
    if ((i + 1) % block_tokens == 0) hashes.push_back(hash);
  }
  return hashes;
}

void append_tokens(std::string_view text, std::vector<std::uint32_t>& tokens) {
  for (std::size_t i = 0; i < text.size(); i += bytes_per_token) {
    std::uint32_t token = 0;
    std::memcpy(&token, text.data() + i, std::min(bytes_per_token, text.size() - i));
    tokens.push_back(token);
  }
}

}  // namespace assay::simulator
