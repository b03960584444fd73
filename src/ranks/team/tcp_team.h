// A team over TCP: every rank is connected to rank 0, which passes on what is said. A thread on
// each rank listens meanwhile, so that a death is known at once and a silence within seconds.
#pragma once

#include <functional>
#include <memory>

#include "core/result.h"
#include "ranks/team/rendezvous.h"
#include "ranks/team/team.h"

namespace assay {

struct TeamPatience {
  double step_seconds = 120;    ///< how long one rank may keep the others waiting
  double silence_seconds = 15;  ///< how long one may not be heard of: every rank speaks each second
  double last_seconds = 10;     ///< from the team's end in error to `abandoned`
};

/// `abandoned` is called from the listening thread if the team has failed and still exists
/// `last_seconds` later: the rank hangs in a call that nothing ends. It may end the process.
std::unique_ptr<Team> make_tcp_team(Gathering gathering, int rank, const TeamPatience& patience,
                                    std::function<void(const Error&)> abandoned);

}  // namespace assay
