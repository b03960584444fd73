// RDMA through libibverbs: reliable connected queue pairs; one transport uses one or more ports.
#pragma once

#include <memory>
#include <vector>

#include "ranks/fabric/transport.h"
#include "ranks/fabric/verbs.h"

namespace assay {

/// Queue i uses port i modulo the number of ports. Error: failed, naming the device and the step;
/// unsupported if the window cannot be registered, with every method tried.
Result<std::unique_ptr<Transport>> make_verbs_transport(
    std::shared_ptr<const verbs::Library> library, std::vector<verbs::Port> ports,
    const FabricWindow& window, const FabricShape& shape);

}  // namespace assay
