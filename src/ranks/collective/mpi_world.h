// What a launcher can use of MPI before there is a team: rank 0 tells where to meet.
#pragma once

#include <string>

#include "core/result.h"

namespace assay {

/// Whether an MPI launcher (mpirun, mpiexec, srun with PMI) started this process.
bool started_by_mpi();

/// From now on MPI may be called by threads other than the first, one at a time: streams can run
/// its operations (Communicator::enqueue). Has an effect only before the first use of MPI. Without
/// it the library takes no locks, which at small messages is a fifth of the time.
void mpi_use_from_streams();

/// Sends rank 0's text, at most 1 MiB, to all processes of the launcher. Each process calls it, on
/// the thread that uses MPI from then on. The first call initialises MPI. It is finalised at the
/// end of the process, unless an operation failed or was aborted: finalising would wait for ranks
/// that are gone, and if a process ends without it, the launcher ends the others. Error:
/// unavailable, if no launcher started this process or no MPI library works with it; failed, with
/// the library's message.
Result<std::string> mpi_broadcast(std::string from_rank_0);

}  // namespace assay
