// Communicators of NCCL and RCCL.
#pragma once

#include <memory>

#include "ranks/collective/nccl_library.h"

namespace assay::nccl {

/// All ranks call it together. Error: unavailable, if a rank lacks the library or versions differ;
/// failed, with the library's message, or as Team reports if ranks are missing.
Result<std::unique_ptr<Communicator>> open_communicator(const Vendor& vendor, Device& device,
                                                        Team& team);

}  // namespace assay::nccl
