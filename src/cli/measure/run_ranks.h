// The part of `assay run` that deals with ranks: forming the team, and the work of ranks other than
// 0.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/command.h"
#include "compute/device/device.h"
#include "core/result.h"
#include "measure/sampling/runner.h"
#include "measure/suites/cells_of_target.h"
#include "ranks/launch/team_session.h"

namespace assay::cli {

/// Reads --ranks, --hosts, --without-secret, --patience and the launcher's variables. Error: usage.
Result<TeamRequest> read_team_request(const Arguments& arguments, const Plan& plan);

/// --patience, if it is given. Error: usage.
Status read_patience(const Arguments& arguments, TeamRequest& request);

/// Returns a function to be called when the team has failed while this rank is stuck in a call that
/// cannot be interrupted. It ends the process; with `say_it`, it prints the reason to standard
/// error.
std::function<void(const Error&)> abandoning(bool say_it);

/// Seconds that one step of a cell may take on a GPU: --patience or its default, and for several
/// ranks twice that and more, because a rank that waits for another one does not hang.
double device_patience(const TeamRequest& request);

/// Forms the team if there are several ranks and a cell of the plan needs them; otherwise `team` is
/// null and every process measures on its own. Warns if other users of the machine could take a
/// rank's place. Error: as from form_team() and warn_of_strangers().
Result<TeamSession> meet_ranks(const TeamRequest& request, const Plan& plan, Terminal& terminal);

/// A team with the members that meet_ranks() would bring together, without connections.
std::unique_ptr<Team> team_to_meet(const TeamRequest& request);

/// The work of a rank other than 0, without output: rank 0 shows and stores the results of all.
/// Returns the exit status.
int measure_for_rank_0(const Result<std::unique_ptr<Device>>& device, RunOptions options,
                       Team& team);

/// `message`, followed by how locally started ranks failed.
std::string with_failures(const std::string& message, const StartedRanks& started);

/// Returns whether this is a rank other than 0 of an MPI or Slurm job, whose output would mix with
/// that of rank 0.
bool is_other_rank();
/// From here on nothing reaches standard output.
void close_output();

}  // namespace assay::cli
