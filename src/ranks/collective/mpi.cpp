#include "ranks/collective/communicator_checks.h"
#include "ranks/collective/mpi_communicator.h"
#include "ranks/collective/mpi_world.h"

namespace assay::mpi_communicator {
namespace {

const CommunicatorRegistry::Add registered{
    {"mpi", "Open MPI, MPICH or a descendant, under its launcher",
     [](const Device& device, const Team&) {
       if (!started_by_mpi()) return 0;
       return has_host_memory(device) ? 20 : 5;  // GPUs have libraries of their own
     },
     [](Device& device, Team& team, const CommunicatorConfig& config) {
       return mpi::open_communicator(device, team, config);
     }}};

}  // namespace
}  // namespace assay::mpi_communicator
