// The processes ("ranks") that measure together, whoever started them. All ranks make the same
// calls in the same order; a rank that dies or stays away ends the call on every other one with an
// error that names it and its host.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

/// One rank as the others know it.
struct TeamMember {
  int rank = 0;
  int local_rank = 0;  ///< among the ranks of its host, from 0
  std::string host;
  int process = 0;  ///< its process id there
};

class Team {
 public:
  virtual ~Team() = default;

  virtual int rank() const = 0;
  /// In rank order; at least this process itself.
  virtual const std::vector<TeamMember>& members() const = 0;
  int size() const { return static_cast<int>(members().size()); }

  /// Gives `mine` to all ranks and returns what each gave, in rank order. `step` names what is
  /// going on, for messages. Error: failed, naming the ranks that died or did not come before the
  /// deadline, or that were at another step; interrupted if a rank was asked to stop.
  virtual Result<std::vector<std::string>> exchange(std::string_view step, std::string mine) = 0;

  /// The same, but what all get is the one text that `at_rank_0` makes there of what each gave.
  virtual Result<std::string> decide(
      std::string_view step, std::string mine,
      const std::function<std::string(const std::vector<std::string>&)>& at_rank_0);

  /// Polled while waiting for something other than exchange(): an error as soon as this rank cannot
  /// go on, because another one died or because this wait, since `step` began, passed the deadline.
  virtual Status still_whole() = 0;
};

/// A team of this process alone: every exchange returns at once.
Team& solo_team();

/// What the others know of this rank.
inline const TeamMember& own_place(const Team& team) {
  return team.members()[static_cast<std::size_t>(team.rank())];
}

/// "rank 2 on node-b"
std::string name_of(const TeamMember& member);

}  // namespace assay
