// The ranks of one communicator, threads or processes of this machine: a piece of shared memory in
// which they meet, tell each other what they call and pass their data on, and in which the death of
// one is seen by the others.
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

  /// Makes the memory under a name that other processes find it by; it goes with the process unless
  /// ranks join.
  static bool create(const std::string& name);
  /// Joins as `rank` and waits for all others. Null, with the reason in `problem`, if that fails.
  static std::unique_ptr<NcclWorld> join(const std::string& name, int ranks, int rank,
                                         std::string& problem);
  /// Leaves in good order: the others may not wait for it any more.
  ~NcclWorld();
  NcclWorld(const NcclWorld&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// What this rank shows to the others, and what they show: written before a meeting, read after
  /// it, and written anew only after one more.
  std::span<std::byte> window() { return window_of(rank_); }
  std::span<const std::byte> window(int rank) const { return window_of(rank); }

  /// Waits for all ranks. False if one is gone or any ended the communicator: problem() says it.
  bool meet();
  /// Ends the communicator for all ranks, first reason first.
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
