// A team whose ranks are threads of one process.
#pragma once

#include <barrier>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "team/team.h"

namespace assay {

class ThreadTeam {
 public:
  explicit ThreadTeam(int size) : barrier_(size), given_(static_cast<std::size_t>(size)) {
    for (int i = 0; i < size; ++i) members_.push_back({i, i, "host", 1});
    for (int i = 0; i < size; ++i) ranks_.emplace_back(*this, i);
  }

  Team& rank(int i) { return ranks_[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(members_.size()); }

  /// body(team) on a thread of each rank; returns when all have.
  template <typename Body>
  void run(Body body) {
    std::vector<std::jthread> threads;
    for (Rank& rank : ranks_) threads.emplace_back([&body, &rank] { body(rank); });
  }

 private:
  class Rank final : public Team {
   public:
    Rank(ThreadTeam& team, int rank) : team_(team), rank_(rank) {}
    int rank() const override { return rank_; }
    const std::vector<TeamMember>& members() const override { return team_.members_; }
    Result<std::vector<std::string>> exchange(std::string_view, std::string mine) override {
      team_.given_[static_cast<std::size_t>(rank_)] = std::move(mine);
      team_.barrier_.arrive_and_wait();
      std::vector<std::string> all = team_.given_;
      team_.barrier_.arrive_and_wait();  // nobody gives anew before all have read
      return all;
    }
    Status still_whole() override { return {}; }

   private:
    ThreadTeam& team_;
    int rank_;
  };

  std::vector<TeamMember> members_;
  std::barrier<> barrier_;
  std::vector<std::string> given_;
  std::deque<Rank> ranks_;
};

}  // namespace assay
