// Manages the blocks of the KV cache: which are in use, which are free, and which free ones still
// hold a prefix that a later prompt may share.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace assay::server {

/// Free blocks keep their contents until they are taken again, least recently freed first.
class BlockPool {
 public:
  using Block = std::uint32_t;

  explicit BlockPool(std::uint32_t blocks);

  std::size_t size() const { return blocks_.size(); }  ///< all blocks
  std::size_t free() const { return free_; }           ///< those without a use

  /// Returns how many leading `hashes` are held by blocks, used or free.
  std::size_t held(std::span<const std::uint64_t> hashes) const;
  /// Returns how many of `hashes`, which must all be held, are in free blocks, which share() would
  /// take from the free ones.
  std::size_t held_and_free(std::span<const std::uint64_t> hashes) const;
  /// Appends the blocks of `hashes`, all held, each now used once more.
  void share(std::span<const std::uint64_t> hashes, std::vector<Block>& blocks);
  /// Appends `count` <= free() blocks and discards their contents.
  void take(std::size_t count, std::vector<Block>& blocks);
  /// Records that the used `block` holds `hash`, unless another block already does.
  void hold(Block block, std::uint64_t hash);
  /// Ends one use of each block; the last block of a prefix will be reused before its first.
  void release(std::span<const Block> blocks);
  /// Discards all prefixes. Does nothing and returns false while any block is in use.
  bool forget();

 private:
  static constexpr Block none = UINT32_MAX;
  struct Entry {
    std::uint64_t hash = 0;
    bool hashed = false;
    std::uint32_t uses = 0;
    Block before = none, after = none;  // neighbours in the list of free blocks
  };

  void append_free(Block block);
  void remove_free(Block block);
  void forget(Entry& entry);

  std::vector<Entry> blocks_;
  std::unordered_map<std::uint64_t, Block> by_hash_;
  Block oldest_ = none, newest_ = none;
  std::size_t free_ = 0;
};

}  // namespace assay::server
