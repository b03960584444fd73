// The messages of transport.h over TCP, for machines without RDMA hardware. The rank's host does
// the adapter's work, so the results are those of TCP and are labelled as such.
#pragma once

#include <memory>

#include "ranks/fabric/transport.h"

namespace assay {

/// Listens for the peer; connect() then makes one connection per queue. Error: unsupported for a
/// window on a device; failed if it cannot listen.
Result<std::unique_ptr<Transport>> make_tcp_transport(const FabricWindow& window,
                                                      const FabricShape& shape);

}  // namespace assay
