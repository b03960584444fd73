// The same messages over TCP, for machines without RDMA hardware. The rank's host does the
// adapter's work, so the results are those of TCP and are labelled so.
#pragma once

#include <memory>

#include "ranks/fabric/transport.h"

namespace assay {

/// One connection per queue. Error: unsupported for a device's window; failed.
Result<std::unique_ptr<Transport>> make_tcp_transport(const FabricWindow& window,
                                                      const FabricShape& shape);

}  // namespace assay
