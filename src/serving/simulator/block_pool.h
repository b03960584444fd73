// The KV cache as blocks: which are in use, which are free, and which free ones still hold a prefix
// that a later prompt may share.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace assay::simulator {

/// Free blocks keep what they hold until they are taken again; the one free for longest goes first.
class BlockPool {
 public:
  using Block = std::uint32_t;

  explicit BlockPool(std::uint32_t blocks);

  std::size_t size() const { return blocks_.size(); }
  std::size_t free() const { return free_; }

  /// How many of `hashes`, from the first on, are held.
  std::size_t held(std::span<const std::uint64_t> hashes) const;
  /// Of those, the ones that are free: sharing them takes them from what is free.
  std::size_t held_and_free(std::span<const std::uint64_t> hashes) const;
  /// Appends the blocks of `hashes`, all held, each now used once more.
  void share(std::span<const std::uint64_t> hashes, std::vector<Block>& blocks);
  /// Appends `count` <= free() blocks, and forgets what they held.
  void take(std::size_t count, std::vector<Block>& blocks);
  /// The used `block` now holds `hash`, unless another block does already.
  void hold(Block block, std::uint64_t hash);
  /// Ends one use of each; the last block of a prefix is then reused before its first.
  void release(std::span<const Block> blocks);
  /// Forgets all prefixes. False, and nothing done, while any block is in use.
  bool forget();

 private:
  static constexpr Block none = UINT32_MAX;
  struct Entry {
    std::uint64_t hash = 0;
    bool hashed = false;
    std::uint32_t uses = 0;
    Block before = none, after = none;  // in the list of free blocks
  };

  void append_free(Block block);
  void remove_free(Block block);
  void forget(Entry& entry);

  std::vector<Entry> blocks_;
  std::unordered_map<std::uint64_t, Block> by_hash_;
  Block oldest_ = none, newest_ = none;
  std::size_t free_ = 0;
};

}  // namespace assay::simulator
