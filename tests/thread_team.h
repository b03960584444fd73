// A team whose ranks are threads of this process.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "team/team.h"

namespace assay {

/// rank(i) is used from one thread at a time. A rank that stops taking part ends the waits of all
/// others when it calls leave().
class ThreadTeam {
 public:
  explicit ThreadTeam(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(*this, rank));
      members_.push_back({rank, rank, "here", rank});
    }
    given_.resize(ranks_.size());
  }

  Team& rank(int i) { return *ranks_[static_cast<std::size_t>(i)]; }
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    if (gone_.empty()) gone_ = name_of(members_[static_cast<std::size_t>(rank)]) + " is gone";
    news_.notify_all();
  }

 private:
  class Rank final : public Team {
   public:
    Rank(ThreadTeam& team, int rank) : team_(team), rank_(rank) {}
    int rank() const override { return rank_; }
    const std::vector<TeamMember>& members() const override { return team_.members_; }
    Result<std::vector<std::string>> exchange(std::string_view step, std::string mine) override {
      return team_.exchange(rank_, std::string(step), std::move(mine));
    }
    Status still_whole() override {
      const std::lock_guard lock(team_.mutex_);
      return team_.gone_.empty() ? Status() : Status(Error{ErrorKind::failed, team_.gone_});
    }

   private:
    ThreadTeam& team_;
    int rank_;
  };

  Result<std::vector<std::string>> exchange(int rank, std::string step, std::string mine) {
    std::unique_lock lock(mutex_);
    if (came_ == 0) step_ = step;
    EXPECT_EQ(step_, step) << "ranks are at different steps";
    given_[static_cast<std::size_t>(rank)] = std::move(mine);
    const std::size_t round = round_;
    if (++came_ == ranks_.size()) {
      came_ = 0;
      ++round_;
      taken_ = given_;
      news_.notify_all();
    }
    news_.wait(lock, [&] { return round_ != round || !gone_.empty(); });
    if (round_ == round) return Error{ErrorKind::failed, gone_};
    return taken_;
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<TeamMember> members_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable news_;
  std::vector<std::string> given_, taken_;
  std::string step_, gone_;
  std::size_t came_ = 0, round_ = 0;
};

}  // namespace assay
