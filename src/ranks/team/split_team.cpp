#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "ranks/team/team.h"

namespace assay {
namespace {

class SplitTeam final : public Team {
 public:
  /// `ranks`: those of the part, as `whole` numbers them.
  SplitTeam(Team& whole, std::vector<int> ranks) : whole_(whole), ranks_(std::move(ranks)) {
    std::map<std::string, int> seen;
    for (const int of_whole : ranks_) {
      TeamMember member = whole.members()[static_cast<std::size_t>(of_whole)];
      if (of_whole == whole.rank()) rank_ = static_cast<int>(members_.size());
      member.rank = static_cast<int>(members_.size());
      member.local_rank = seen[member.host]++;
      members_.push_back(std::move(member));
    }
  }

  int rank() const override { return rank_; }
  const std::string& secret() const override { return whole_.secret(); }
  const std::vector<TeamMember>& members() const override { return members_; }
  Result<std::vector<std::string>> exchange(std::string_view step, std::string mine) override {
    auto all = TRY(whole_.exchange(step, std::move(mine)));
    std::vector<std::string> ours;
    for (const int rank : ranks_) ours.push_back(std::move(all[static_cast<std::size_t>(rank)]));
    return ours;
  }
  Status check_alive() override { return whole_.check_alive(); }
  void end_wait() override { whole_.end_wait(); }

 private:
  Team& whole_;
  const std::vector<int> ranks_;
  std::vector<TeamMember> members_;
  int rank_ = 0;
};

}  // namespace

Result<std::unique_ptr<Team>> split_team(Team& whole, int colour, int key) {
  const auto given = TRY(whole.exchange("splitting the team", fmt::format("{} {}", colour, key)));
  std::vector<std::pair<int, int>> ours;  // key and rank
  for (int rank = 0; rank < whole.size(); ++rank) {
    int its_colour = -1, its_key = 0;
    std::istringstream(given[static_cast<std::size_t>(rank)]) >> its_colour >> its_key;
    const bool with_us = colour < 0 ? rank == whole.rank() : its_colour == colour;
    if (with_us) ours.emplace_back(its_key, rank);
  }
  std::sort(ours.begin(), ours.end());
  std::vector<int> ranks;
  for (const auto& [its_key, rank] : ours) ranks.push_back(rank);
  return std::unique_ptr<Team>(std::make_unique<SplitTeam>(whole, std::move(ranks)));
}

}  // namespace assay
