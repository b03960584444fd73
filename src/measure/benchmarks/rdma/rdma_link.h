// Connects the two ranks of a cell of `rdma`: memory, adapters, queues.
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

/// Exchanges data between all ranks and returns that of all ranks. If a rank has an error instead,
/// all ranks return the error of the first such rank. Error: also as from Team::exchange().
Result<std::vector<std::string>> give_all(Team& team, std::string_view step,
                                          const Result<std::string>& mine);

/// One rank's end of the link. Ranks other than `from` and `to` have no transport.
struct RdmaLink {
  Buffer memory;
  FabricWindow window;
  char* host_window = nullptr;  ///< null: the window is in device memory
  int queues = 1;
  std::unique_ptr<Transport> transport;
  /// Facts about both ends, the same on all ranks: "from_nic", "to_memory_path", ...
  std::vector<std::pair<std::string, std::string>> facts;
};

/// Connects the ranks `from` and `to`. All ranks call it together. Error, the same on all ranks:
/// unavailable, unsupported, failed or exhausted.
Result<RdmaLink> link_ranks(const RdmaSettings& settings, Device& device, Team& team);

}  // namespace assay
