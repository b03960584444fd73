// Communicators over MPI.
#pragma once

#include <climits>
#include <cstddef>
#include <memory>

#include "ranks/collective/communicator.h"

namespace assay::mpi {

/// All ranks of the team call it together; they must be all the processes that MPI has. MPI counts
/// in int, so vectors of more than `largest_count` elements are split or described by derived
/// types. Error: unavailable, naming the rank that has no MPI, or if MPI has other processes;
/// unsupported, for GPU memory if the library does not report support for it; usage, for bounds of
/// `config` that contradict each other.
Result<std::unique_ptr<Communicator>> open_communicator(Device& device, Team& team,
                                                        const CommunicatorConfig& config,
                                                        std::size_t largest_count = INT_MAX);

}  // namespace assay::mpi
