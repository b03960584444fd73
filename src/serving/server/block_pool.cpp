#include "serving/server/block_pool.h"

namespace assay::server {

BlockPool::BlockPool(std::uint32_t blocks) : blocks_(blocks) {
  for (Block block = 0; block < blocks; ++block) append_free(block);
}

std::size_t BlockPool::held(std::span<const std::uint64_t> hashes) const {
  std::size_t count = 0;
  while (count < hashes.size() && by_hash_.count(hashes[count]) != 0) ++count;
  return count;
}

std::size_t BlockPool::held_and_free(std::span<const std::uint64_t> hashes) const {
  std::size_t count = 0;
  for (const std::uint64_t hash : hashes) count += blocks_[by_hash_.at(hash)].uses == 0;
  return count;
}

void BlockPool::share(std::span<const std::uint64_t> hashes, std::vector<Block>& blocks) {
  for (const std::uint64_t hash : hashes) {
    const Block block = by_hash_.at(hash);
    if (blocks_[block].uses++ == 0) remove_free(block);
    blocks.push_back(block);
  }
}

void BlockPool::take(std::size_t count, std::vector<Block>& blocks) {
  for (; count > 0; --count) {
    const Block block = oldest_;
    remove_free(block);
    forget(blocks_[block]);
    blocks_[block].uses = 1;
    blocks.push_back(block);
  }
}

void BlockPool::hold(Block block, std::uint64_t hash) {
  Entry& entry = blocks_[block];
  if (entry.hashed || !by_hash_.emplace(hash, block).second) return;
  entry.hash = hash;
  entry.hashed = true;
}

void BlockPool::release(std::span<const Block> blocks) {
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (--blocks_[*block].uses == 0) append_free(*block);
  }
}

bool BlockPool::forget() {
  if (free_ < blocks_.size()) return false;
  for (Entry& entry : blocks_) forget(entry);
  return true;
}

void BlockPool::forget(Entry& entry) {
  if (entry.hashed) by_hash_.erase(entry.hash);
  entry.hashed = false;
}

void BlockPool::append_free(Block block) {
  Entry& entry = blocks_[block];
  entry.before = newest_;
  entry.after = none;
  (newest_ == none ? oldest_ : blocks_[newest_].after) = block;
  newest_ = block;
  ++free_;
}

void BlockPool::remove_free(Block block) {
  const Entry& entry = blocks_[block];
  (entry.before == none ? oldest_ : blocks_[entry.before].after) = entry.after;
  (entry.after == none ? newest_ : blocks_[entry.after].before) = entry.before;
  --free_;
}

}  // namespace assay::server
