// Memory of every rank of a host into which all of them write: each rank's window.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

class PeerWindows {
 public:
  /// Windows of `bytes`, zeroed. All ranks of `team` call it together; they are on one host. No
  /// rank may destroy its own before the others have written what it waits for. Error: unsupported,
  /// naming the ranks, if they are on several hosts or their devices reach each other by no path;
  /// exhausted.
  static Result<std::unique_ptr<PeerWindows>> open(Device& device, Stream& stream, Team& team,
                                                   std::size_t bytes);

  /// Where this rank's device finds the window of `rank`.
  std::byte* of(int rank) const { return addresses_[static_cast<std::size_t>(rank)]; }
  /// The same for all ranks, as an array on the device.
  const void* addresses_on_device() const { return table_.data(); }

 private:
  PeerWindows() = default;

  Buffer own_;
  std::vector<Buffer> others_;  // by rank; this rank's is empty
  std::vector<std::byte*> addresses_;
  Buffer table_;
};

}  // namespace assay
