// A team whose ranks are threads of this process. One process can so drive several devices without
// sockets. After a failure every further call of any rank fails, also in a later run().
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "ranks/team/polled_wait.h"
#include "ranks/team/team.h"

namespace assay {

class ThreadTeam {
 public:
  /// One rank's end, used by the thread that is this rank.
  class End final : public Team {
   public:
    End(ThreadTeam& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    const std::string& secret() const override { return all_.secret_; }
    const std::vector<TeamMember>& members() const override { return all_.members_; }
    Result<std::vector<std::string>> exchange(std::string_view step, std::string mine) override;
    Status check_alive() override;
    void end_wait() override;
    /// Marks this rank as dead: from now on the other ranks' calls fail with its name.
    void die();

   private:
    ThreadTeam& all_;
    int rank_;
    Mutex mutex_;  // streams poll from other threads
    PolledWait wait_ GUARDED_BY(mutex_);
  };

  /// `patience_seconds` is how long one rank may keep the others waiting.
  explicit ThreadTeam(int ranks, double patience_seconds = 120);

  End& rank(int i) { return ends_[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(members_.size()); }

  /// Runs `rank_main` once per rank, each in a separate thread, and returns when all have returned.
  /// If a rank has returned while others still exchange, it counts as missing.
  void run(const std::function<void(End&)>& rank_main);
  /// Runs functions that can fail. A rank that fails counts as dead, so that the others do not wait
  /// for it. Error: the first one of a rank.
  Status run_checked(const std::function<Status(End&)>& rank_main);

 private:
  Result<std::vector<std::string>> exchange(int rank, std::string_view step, std::string mine);
  std::optional<Error> trouble();
  void fail(std::string why);
  void break_up(std::string why) REQUIRES(mutex_);
  std::string missing_ranks() const REQUIRES(mutex_);
  std::optional<int> left_rank() const REQUIRES(mutex_);

  const double patience_seconds_;
  const std::string secret_;
  std::vector<TeamMember> members_;
  std::deque<End> ends_;

  Mutex mutex_;
  std::condition_variable changed_;
  /// Indexed by rank, in the current exchange.
  std::vector<std::optional<std::string>> given_ GUARDED_BY(mutex_);
  std::vector<std::string> taken_ GUARDED_BY(mutex_);  // texts of the last complete exchange
  std::vector<bool> left_ GUARDED_BY(mutex_);          // ranks whose function has returned
  std::uint64_t round_ GUARDED_BY(mutex_) = 0;
  std::string step_ GUARDED_BY(mutex_);
  std::optional<Error> trouble_ GUARDED_BY(mutex_);
};

}  // namespace assay
