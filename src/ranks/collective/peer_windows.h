// Windows: every rank of a host has memory into which all ranks of this host can write.
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
  /// Opens zeroed windows of `bytes` bytes. All ranks of `team` call it together; they must be on
  /// one host. A rank must not destroy its window while other ranks may still write to it. Error:
  /// unsupported, naming the ranks, if they are on several hosts; as exchange_or_fail()
  /// (ranks/team/agreement.h), such as unsupported without a path between the devices, or exhausted
  /// on any rank.
  static Result<std::unique_ptr<PeerWindows>> open(Device& device, Stream& stream, Team& team,
                                                   std::size_t bytes);

  /// Returns the address of the window of `rank` on this rank's device.
  std::byte* of(int rank) const { return addresses_[static_cast<std::size_t>(rank)]; }
  /// Returns an array on the device with the addresses of all windows, by rank.
  const void* addresses_on_device() const { return table_.data(); }

 private:
  PeerWindows() = default;

  Buffer own_;
  std::vector<Buffer> others_;  // indexed by rank; this rank's is empty
  std::vector<std::byte*> addresses_;
  Buffer table_;
};

}  // namespace assay
