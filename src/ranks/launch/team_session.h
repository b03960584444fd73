// Forms the team that measures: starts the ranks that this process must start, and connects to the
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
  std::optional<RankPlace> place;  ///< from a launcher; empty: this process is rank 0
  int ranks = 0;                   ///< number on this machine, rank 0 included; 0: not specified
  std::vector<HostSlots> hosts;    ///< this machine first; empty: only this machine
  bool without_secret = false;     ///< allow an open run although the machine has other users
  std::vector<std::string> arguments;  ///< assay's command-line arguments, for the started ranks
  TeamPatience patience;
  double gathering_seconds = 60;                ///< time for all ranks to connect
  std::function<void(const Error&)> abandoned;  ///< as for make_tcp_team()
};

/// A team, and the ranks started for it; they end with the session.
struct TeamSession {
  StartedRanks started;
  std::unique_ptr<Team> team;
};

/// Returns a warning if this process is rank 0 of a run that others could join, because its token
/// follows from the job's identity; otherwise empty. Error: usage, if users of this machine could
/// join, unless the request is `without_secret`.
Result<std::string> warn_of_strangers(const TeamRequest& request);

/// Error: usage for a contradictory request, or for a token that only rank 0 was given; unavailable
/// for a host that cannot be reached; as mpi_broadcast() (ranks/collective/mpi_world.h); failed,
/// naming the ranks that did not connect, and the reason if known.
Result<TeamSession> form_team(const TeamRequest& request);

}  // namespace assay
