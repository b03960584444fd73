// The part of `assay run` that has to do with ranks: who they are, and what all but rank 0 do.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "compute/device/device.h"
#include "core/result.h"
#include "measure/benchmarks/plan.h"
#include "measure/sampling/runner.h"
#include "ranks/launch/team_session.h"

namespace assay::cli {

/// What --ranks, --hosts, --patience and the launcher's variables say. Error: usage.
Result<TeamRequest> read_team_request(const Arguments& arguments, const Plan& plan);

/// Forms the team if there is one to form and a cell of the plan that needs one; otherwise `team`
/// is null and every process measures for itself. Error: as form_team().
Result<TeamSession> meet_ranks(const TeamRequest& request, const Plan& plan);

/// What a rank other than 0 does, in silence: rank 0 shows and stores what all have measured.
/// Returns the exit status.
int measure_for_rank_0(const Result<std::unique_ptr<Device>>& device, RunOptions options,
                       Team& team);

/// `message`, and how ranks that were started here ended if not well.
std::string with_failures(const std::string& message, const StartedRanks& started);

/// Whether this is a rank other than the first of an MPI or Slurm job, whose lines would tear those
/// of the first one.
bool is_other_rank();
/// From here on nothing reaches standard output.
void close_output();

}  // namespace assay::cli
