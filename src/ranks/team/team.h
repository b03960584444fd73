// The processes ("ranks") that measure together, whichever launcher started them. All ranks make
// the same calls in the same order. If a rank dies or does not come, the call fails on every other
// rank with an error that names the rank and its host.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "results/record/team_member.h"

namespace assay {

class Team {
 public:
  virtual ~Team() = default;

  virtual int rank() const = 0;
  /// What only ranks of this run know: for the greetings of connections between them.
  virtual const std::string& secret() const = 0;
  /// In rank order; contains at least this process.
  virtual const std::vector<TeamMember>& members() const = 0;
  int size() const { return static_cast<int>(members().size()); }

  /// Sends `mine` to all ranks and returns the text of each, in rank order. `step` names the
  /// current activity in messages. Error: failed, naming the ranks that died, did not come before
  /// the deadline, or were at another step; interrupted if a rank was asked to stop.
  virtual Result<std::vector<std::string>> exchange(std::string_view step, std::string mine) = 0;

  /// The same, but all ranks get one text, which `at_rank_0` computes on rank 0 from all texts.
  virtual Result<std::string> decide(
      std::string_view step, std::string mine,
      const std::function<std::string(const std::vector<std::string>&)>& at_rank_0);

  /// Polled while waiting for anything but exchange(): an error as soon as this rank cannot
  /// continue, because another rank died or because this wait, since `step` began, exceeded the
  /// deadline. From any thread.
  virtual Status check_alive() = 0;
  /// What was polled for has come: the next check_alive() begins another wait, with a deadline of
  /// its own. From any thread.
  virtual void end_wait() {}
};

/// The part of `whole` whose ranks give the same `colour`, numbered in the order of `key` and,
/// where keys are equal, of their ranks in `whole`. A rank whose colour is negative is alone. All
/// ranks of `whole` call it together, and what it returns still speaks through `whole`: all ranks
/// of `whole`, whatever their colour, must go on making the same calls in the same order. `whole`
/// must outlive it. Error: as Team::exchange.
Result<std::unique_ptr<Team>> split_team(Team& whole, int colour, int key);

/// A team of only this process: every exchange returns at once.
Team& solo_team();

/// A team that has not met, as its rank 0 would see it if all ranks said the same: for what a run
/// with these members, at least one, would measure.
std::unique_ptr<Team> planned_team(std::vector<TeamMember> members);

/// This rank's entry in the team's members.
inline const TeamMember& own_place(const Team& team) {
  return team.members()[static_cast<std::size_t>(team.rank())];
}

/// "rank 2 on node-b"
std::string name_of(const TeamMember& member);

}  // namespace assay
