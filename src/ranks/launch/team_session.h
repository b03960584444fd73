// Forms the team that measures: starts the ranks that are this process's to start, and meets the
// others.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "ranks/launch/rank_place.h"
#include "ranks/launch/started_ranks.h"
#include "ranks/team/tcp_team.h"

namespace assay {

struct TeamRequest {
  std::optional<RankPlace> place;      ///< as a launcher says; empty: this process is rank 0
  int ranks = 0;                       ///< to start on this machine, rank 0 included; 0: not said
  std::vector<HostSlots> hosts;        ///< this machine first; empty: this machine alone
  std::vector<std::string> arguments;  ///< assay's own, for the ranks that are started
  TeamPatience patience;
  double gathering_seconds = 60;                ///< in which all ranks must have come
  std::function<void(const Error&)> abandoned;  ///< as make_tcp_team()'s
};

/// A team, and the ranks started for it, which end when it does.
struct TeamSession {
  StartedRanks started;
  std::unique_ptr<Team> team;
};

/// Error: usage for a request that contradicts itself; unavailable for a host that cannot be
/// reached; failed, naming the ranks that did not come, and why where that is known.
Result<TeamSession> form_team(const TeamRequest& request);

}  // namespace assay
