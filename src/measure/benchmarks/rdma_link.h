// The two ranks of a cell of `rdma` made ready for each other: memory, adapters, queues.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "measure/benchmarks/rdma_settings.h"
#include "ranks/fabric/transport.h"
#include "ranks/team/team.h"

namespace assay {

/// What each rank gives to all others, or why it has nothing to give: then all ranks fail alike,
/// with the reason of the first one that has one. Error: that; what Team::exchange() says.
Result<std::vector<std::string>> give_all(Team& team, std::string_view step,
                                          const Result<std::string>& mine);

/// One rank's end. Ranks that are neither `from` nor `to` have no transport.
struct RdmaLink {
  Buffer memory;
  FabricWindow window;
  char* host_window = nullptr;  ///< null: the window is the device's
  int queues = 1;
  std::unique_ptr<Transport> transport;
  /// Of both ends, the same on all ranks: "from_nic", "to_memory_path", ...
  std::vector<std::pair<std::string, std::string>> facts;
};

/// All ranks call it. Error, the same on all: unavailable, unsupported, failed, exhausted.
Result<RdmaLink> link_ranks(const RdmaSettings& settings, Device& device, Team& team);

}  // namespace assay
