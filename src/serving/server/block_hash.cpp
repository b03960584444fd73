#include "serving/server/block_hash.h"

#include "core/random.h"

namespace assay::server {

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

}  // namespace assay::server
