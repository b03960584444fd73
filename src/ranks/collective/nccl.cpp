#include "ranks/collective/nccl_communicator.h"

namespace assay::nccl_communicator {
namespace {

const CommunicatorRegistry::Add registered{
    {"nccl", "NVIDIA's library, between CUDA devices",
     [](const Device& device, const Team&) {
       return device.facts().backend == nccl::nvidia.backend ? 30 : 0;
     },
     [](Device& device, Team& team, const CommunicatorConfig& config) {
       return nccl::open_communicator(nccl::nvidia, device, team, config);
     }}};

}  // namespace
}  // namespace assay::nccl_communicator
