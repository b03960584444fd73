// The ranks of one communicator, which are threads or processes of this machine. They share memory
// through which they synchronise, exchange their calls, transfer data and notice a rank's death.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace mi300x {

class NcclWorld {
 public:
  static constexpr int most_ranks = 128;
  static constexpr std::size_t window_bytes = 256 << 10;

  /// Creates the memory under a name by which other processes find it. It vanishes with this
  /// process unless ranks join.
  static bool create(const std::string& name);
  /// Joins as `rank` and waits for all others. Returns null, with the reason in `problem`, if that
  /// fails.
  static std::unique_ptr<NcclWorld> join(const std::string& name, int ranks, int rank,
                                         std::string& problem);
  /// Leaves in an orderly way; the others must not wait for this rank any more.
  ~NcclWorld();
  NcclWorld(const NcclWorld&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// The window of each rank. It is written before a barrier, read after it, and written again only
  /// after one more barrier.
  std::span<std::byte> window() { return window_of(rank_); }
  std::span<const std::byte> window(int rank) const { return window_of(rank); }

  /// A barrier of all ranks. Returns false, with the reason in problem(), if one is gone or ended
  /// the communicator.
  bool meet();
  /// Ends the communicator for all ranks; the first reason is kept.
  void abort(const std::string& reason);
  bool aborted() const;
  std::string problem() const;

 private:
  struct Shared;
  NcclWorld(Shared* shared, int file, int ranks, int rank)
      : shared_(shared), file_(file), ranks_(ranks), rank_(rank) {}
  std::span<std::byte> window_of(int rank) const;
  void look_for_the_dead();

  Shared* shared_;
  int file_, ranks_, rank_;
};

}  // namespace mi300x
