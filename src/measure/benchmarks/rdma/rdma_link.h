// Allocates memory, chooses adapters and connects queues between the two ranks that a cell of the
// benchmark `rdma` measures.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "measure/benchmarks/rdma/rdma_settings.h"
#include "ranks/fabric/transport.h"
#include "ranks/team/team.h"

namespace assay {

/// One rank's end of the connection between the ranks RdmaSettings::from and ::to. On other ranks
/// only `queues` and `facts` are set.
struct RdmaLink {
  Buffer memory;        ///< the allocation that contains the window
  FabricWindow window;  ///< the part that the transport accesses; aligned to 4 KiB in host memory
  char* host_window = nullptr;  ///< the window's address if it is host memory; else null
  int queues = 1;               ///< queue pairs over all adapters; with TCP, connections
  std::unique_ptr<Transport> transport;
  /// Names and texts of notes for the record about both ends, the same on all ranks: "from_nic",
  /// "to_memory_path", ...
  std::vector<std::pair<std::string, std::string>> facts;
};

/// Connects the ranks `from` and `to`. All ranks call it together. Error: as exchange_or_fail()
/// (ranks/team/agreement.h); usage, if an end has no such adapter or GID (a port's address);
/// unavailable, without libibverbs or an active port; unsupported, if the transport cannot access
/// the memory; exhausted without memory or resources of the adapter; failed, if the two ends cannot
/// connect.
Result<RdmaLink> link_ranks(const RdmaSettings& settings, Device& device, Team& team);

}  // namespace assay
