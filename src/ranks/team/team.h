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
  /// Returns a text that only ranks of this run know, for the greetings of connections between
  /// them.
  virtual const std::string& secret() const = 0;
  /// Returns the members in rank order; contains at least this process.
  virtual const std::vector<TeamMember>& members() const = 0;
  int size() const { return static_cast<int>(members().size()); }

  /// All-gathers texts: sends `mine` to all ranks and returns the text of each, in rank order.
  /// `step` names the current activity in messages. Error: failed, naming the ranks that died,
  /// missed the deadline, or were at another step.
  virtual Result<std::vector<std::string>> exchange(std::string_view step, std::string mine) = 0;

  /// Gathers all texts like exchange(), but all ranks get the one text that `at_rank_0` computes
  /// from them on rank 0.
  virtual Result<std::string> decide(
      std::string_view step, std::string mine,
      const std::function<std::string(const std::vector<std::string>&)>& at_rank_0);

  /// Must be polled while waiting for anything but exchange(). Returns an error as soon as this
  /// rank cannot continue (of the kind failed): another rank died, or this wait exceeded the
  /// deadline. May be called from any thread.
  virtual Status check_alive() = 0;
  /// Ends a wait: the next check_alive() begins another one, with a new deadline. May be called
  /// from any thread.
  virtual void end_wait() {}
};

/// Returns the team of the ranks that pass the same `colour`, numbered in the order of `key` and,
/// where keys are equal, of their ranks in `whole`. A rank whose colour is negative is alone. All
/// ranks of `whole` call it together. The result communicates through `whole`: all ranks of
/// `whole`, whatever their colour, must continue to make the same calls in the same order. `whole`
/// must outlive it. Error: as Team::exchange.
Result<std::unique_ptr<Team>> split_team(Team& whole, int colour, int key);

/// Returns the team of only this process; every exchange returns at once.
Team& solo_team();

/// Returns a team without connections. It behaves like rank 0 of a team in which all ranks pass the
/// same texts, and shows what a run with these members (at least one) would measure.
std::unique_ptr<Team> planned_team(std::vector<TeamMember> members);

/// Returns this rank's entry in the team's members.
inline const TeamMember& own_place(const Team& team) {
  return team.members()[static_cast<std::size_t>(team.rank())];
}

/// Names a member for messages: "rank 2 on node-b".
std::string name_of(const TeamMember& member);

}  // namespace assay
