#include "ranks/collective/nccl_communicator.h"

namespace assay::rccl_communicator {
namespace {

const CommunicatorRegistry::Add registered{
    {"rccl", "AMD's library, between HIP devices",
     [](const Device& device, const Team&) {
       return device.facts().backend == nccl::amd.backend ? 30 : 0;
     },
     [](Device& device, Team& team, const CommunicatorConfig& config) {
       return nccl::open_communicator(nccl::amd, device, team, config);
     }}};

}  // namespace
}  // namespace assay::rccl_communicator
