// Communicators over MPI.
#pragma once

#include <climits>
#include <cstddef>
#include <memory>

#include "ranks/collective/communicator.h"

namespace assay::mpi {

/// Opens a communicator over all ranks of the team, which call it together; they must be all
/// processes of the MPI job. MPI counts in int, so vectors of more than `largest_count` elements
/// are split or described by derived types; tests pass a smaller limit. Error: unavailable, naming
/// the rank that has no MPI, or if the job has other processes; unsupported, for GPU memory that
/// the library does not report to support; usage, for contradictory bounds in `config`; failed,
/// with the library's message; as exchange_or_fail() (ranks/team/agreement.h).
Result<std::unique_ptr<Communicator>> open_communicator(Device& device, Team& team,
                                                        const CommunicatorConfig& config,
                                                        std::size_t largest_count = INT_MAX);

}  // namespace assay::mpi
