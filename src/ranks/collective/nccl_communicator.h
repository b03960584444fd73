// Communicators of NCCL and RCCL.
#pragma once

#include <memory>

#include "ranks/collective/nccl_library.h"

namespace assay::nccl {

/// Opens a communicator over all ranks of `team`, which call it together. Error: unavailable, if a
/// rank lacks the library or versions differ; unsupported, if the library is too old for `config`;
/// usage, for contradictory bounds; failed, with the library's message, or as Team reports if ranks
/// are missing.
Result<std::unique_ptr<Communicator>> open_communicator(const Vendor& vendor, Device& device,
                                                        Team& team,
                                                        const CommunicatorConfig& config);

}  // namespace assay::nccl
