// Communicators over MPI.
#pragma once

#include <climits>
#include <cstddef>
#include <memory>

#include "ranks/collective/communicator.h"

namespace assay::mpi {

/// All ranks of the team call it together, and they are all the processes that MPI knows. Vectors
/// of more than `largest_count` elements are cut or described by types of their own, since MPI
/// counts in int. Error: unavailable, naming the rank that has no MPI, or if MPI knows other
/// processes; unsupported, if the device's memory is a GPU's and the library does not say that it
/// can use it.
Result<std::unique_ptr<Communicator>> open_communicator(Device& device, Team& team,
                                                        std::size_t largest_count = INT_MAX);

}  // namespace assay::mpi
