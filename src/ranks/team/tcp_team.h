// A team over TCP: every rank is connected to rank 0, which forwards messages. A listening thread
// on each rank detects the death of a rank at once and its silence within seconds.
#pragma once

#include <functional>
#include <memory>

#include "core/result.h"
#include "ranks/team/rendezvous.h"
#include "ranks/team/team.h"

namespace assay {

/// How long ranks wait for each other.
struct TeamPatience {
  double step_seconds = 120;    ///< how long one rank may keep the others waiting
  double silence_seconds = 15;  ///< longest silence of a rank; every rank sends once a second
  double last_seconds = 10;     ///< from the team's end by an error to the call of `abandoned`
};

/// The listening thread calls `abandoned` if the team failed but still exists `last_seconds` later,
/// because this rank hangs in a call that nothing else ends. `abandoned` may end the process; if it
/// returns, it is called again until the team is destroyed.
std::unique_ptr<Team> make_tcp_team(Gathering gathering, int rank, const TeamPatience& patience,
                                    std::function<void(const Error&)> abandoned);

}  // namespace assay
