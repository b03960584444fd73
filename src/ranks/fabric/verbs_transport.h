// Messages by RDMA through libibverbs: each queue of a transport is a reliable connected queue
// pair, and a transport uses one or more ports.
#pragma once

#include <memory>
#include <vector>

#include "ranks/fabric/transport.h"
#include "ranks/fabric/verbs.h"

namespace assay {

/// Makes one end. Queue i uses port i modulo the number of ports, of which there is at least one.
/// Error: failed, naming the device and the step; unsupported if a window in a GPU's memory cannot
/// be registered, with the reason why each method failed.
Result<std::unique_ptr<Transport>> make_verbs_transport(
    std::shared_ptr<const verbs::Library> library, std::vector<verbs::Port> ports,
    const FabricWindow& window, const FabricShape& shape);

}  // namespace assay
