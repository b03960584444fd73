// MPI before there is a team: rank 0 broadcasts the address at which it listens.
#pragma once

#include <string>

#include "core/result.h"

namespace assay {

/// Returns whether an MPI launcher (mpirun, mpiexec, srun with PMI) started this process.
bool started_by_mpi();

/// Allows threads other than the first to call MPI, one at a time, so that streams can run its
/// operations (Communicator::enqueue (communicator.h)). It must be called before the first use of
/// MPI. Without it the library takes no locks, which saves a fifth of the time of small messages.
void mpi_use_from_streams();

/// Broadcasts rank 0's text, at most 1 MiB, to all processes of the launcher. Each process must
/// call it on the thread that uses MPI from then on. The first call initialises MPI.
///
/// MPI is finalised at the end of the process, unless an operation failed or was aborted, because
/// finalising would then wait for ranks that are gone. If a process ends without finalising, the
/// launcher ends the others. Error: unavailable, if no launcher started this process or no MPI
/// library works with it; failed, with the library's message, or on every rank for a longer text.
Result<std::string> mpi_broadcast(std::string from_rank_0);

}  // namespace assay
