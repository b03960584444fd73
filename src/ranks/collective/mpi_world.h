// What MPI offers a launcher before there is any team: to learn from rank 0 where to meet.
#pragma once

#include <string>

#include "core/result.h"

namespace assay {

/// Whether an MPI launcher (mpirun, mpiexec, srun with PMI) started this process.
bool started_by_mpi();

/// Gives rank 0's text, at most 1 MiB, to all processes that the launcher started, each of which
/// calls it, on the thread that uses MPI from then on. Initialises MPI the first time; it is
/// finalised at the end of the process, unless an operation failed or was aborted by then:
/// finalising would wait for ranks that are gone, and a launcher that sees one end without it ends
/// the others. Error: unavailable, if no launcher started this process or there is no MPI library
/// that works with it; failed, as the library says.
Result<std::string> mpi_broadcast(std::string from_rank_0);

}  // namespace assay
