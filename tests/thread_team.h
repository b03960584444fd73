// Teams whose ranks are threads of the test and use no sockets.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ranks/team/team.h"

namespace assay {

class ThreadTeam {
 public:
  /// The team as one rank sees it.
  class End final : public Team {
   public:
    End(ThreadTeam& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    const std::vector<TeamMember>& members() const override { return all_.members_; }
    Result<std::vector<std::string>> exchange(std::string_view step, std::string mine) override {
      return all_.exchange(rank_, step, std::move(mine));
    }
    Status still_whole() override { return all_.still_whole(); }
    /// Ends this rank like a process that is killed.
    void die() { all_.die(rank_); }

   private:
    ThreadTeam& all_;
    int rank_;
  };

  explicit ThreadTeam(int ranks, std::chrono::seconds deadline = std::chrono::seconds(60))
      : given_(static_cast<std::size_t>(ranks)),
        deadline_(std::chrono::steady_clock::now() + deadline) {
    for (int rank = 0; rank < ranks; ++rank) {
      members_.push_back({rank, rank, "test-host", 1000});
      ends_.emplace_back(*this, rank);
    }
  }

  End& rank(int i) { return ends_[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(members_.size()); }

  /// Runs `rank_main` once per rank and returns when all have returned.
  void run(const std::function<void(End&)>& rank_main) {
    std::vector<std::thread> threads;
    for (End& end : ends_) threads.emplace_back([&rank_main, &end] { rank_main(end); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  Result<std::vector<std::string>> exchange(int rank, std::string_view step, std::string mine) {
    std::unique_lock lock(mutex_);
    if (came_ > 0 && step != step_) {
      broken_ = fmt::format("rank {} is at {}, others at {}", rank, step, step_);
      changed_.notify_all();
    }
    step_ = step;
    given_[static_cast<std::size_t>(rank)] = std::move(mine);
    const int round = round_;
    if (++came_ == static_cast<int>(members_.size())) {
      taken_ = given_;
      came_ = 0;
      ++round_;
      changed_.notify_all();
    }
    const auto over = [&] { return round_ != round || !broken_.empty(); };
    if (!changed_.wait_until(lock, deadline_, over)) broken_ = "nobody came";
    if (round_ == round) return Error{ErrorKind::failed, broken_};
    return taken_;
  }
  Status still_whole() {
    const std::lock_guard lock(mutex_);
    if (!broken_.empty()) return Error{ErrorKind::failed, broken_};
    if (std::chrono::steady_clock::now() < deadline_) return {};
    return Error{ErrorKind::failed, "the wait passed its deadline"};
  }
  void die(int rank) {
    const std::lock_guard lock(mutex_);
    broken_ = name_of(members_[static_cast<std::size_t>(rank)]) + " died";
    changed_.notify_all();
  }

  std::vector<TeamMember> members_;
  std::deque<End> ends_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> given_, taken_;
  int came_ = 0, round_ = 0;
  std::string step_, broken_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace assay
