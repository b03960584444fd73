// The same messages over TCP, for machines without RDMA hardware: the rank's host does what an
// adapter would, so its numbers are TCP's and say so.
#pragma once

#include <memory>

#include "ranks/fabric/transport.h"

namespace assay {

/// One connection per queue. Error: unsupported for a device's window; failed.
Result<std::unique_ptr<Transport>> make_tcp_transport(const FabricWindow& window,
                                                      const FabricShape& shape);

}  // namespace assay
