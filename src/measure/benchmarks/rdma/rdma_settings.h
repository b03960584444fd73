// One cell of `rdma` as numbers, and what follows from them: the positions of messages in the
// window, and which messages request a completion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "ranks/fabric/transport.h"
#include "results/record/cell.h"

namespace assay {

struct RdmaSettings {
  int from = 0, to = 1;  ///< ranks
  FabricOperation operation = FabricOperation::write;
  bool latency = false;    ///< one message at a time; for write and send a ping-pong
  bool both = false;       ///< messages flow in both directions
  std::uint64_t size = 2;  ///< bytes of a message
  int pairs = 1;           ///< queue pairs per adapter
  int depth = 128;         ///< messages in flight per queue
  int batch = 1;           ///< messages posted at once, at most `depth`
  bool verbs = false;      ///< through libibverbs; otherwise TCP
  bool every_nic = false;  ///< uses all adapters
  std::string nic;         ///< the adapter's name, on both ends; empty: the nearest, or every one
  std::optional<int> gid;  ///< index in the ports' tables of addresses; empty: the best one
  bool device_memory = false;  ///< the window is in the device's memory instead of the host's
};

/// Error: usage if `from` or `to` is no number of a rank; the team's size is not known here.
Result<RdmaSettings> rdma_settings(const Cell& cell);

/// Returns whether the axis `nic` names an adapter, as opposed to a keyword.
bool names_adapter(const Cell& cell);

/// How many messages one completion covers, as in ib_write_bw for a single size: the batch if it is
/// above 1; otherwise 1 above 8 KiB, and 100 up to this size. It never exceeds the number of
/// messages that may be in flight.
int messages_per_completion(const RdmaSettings& settings);

/// One queue's part of the window: `slots` slots for outgoing messages at its beginning, and as
/// many for incoming ones after `region` bytes. Small messages cycle through a page; those above
/// half a page always use the same slot, as in ib_write_bw: data are sent from a warm cache.
struct RdmaLayout {
  std::uint64_t size = 0;    ///< bytes of a message
  std::uint64_t stride = 0;  ///< bytes from one message to the next
  std::uint64_t slots = 1;
  std::uint64_t region = 0;  ///< bytes of all slots of one direction, in whole pages

  explicit RdmaLayout(std::uint64_t message_bytes);
  std::uint64_t window_bytes(int queues) const {
    return 2 * region * static_cast<std::uint64_t>(queues);
  }
  /// Offsets in the window of message number `message`.
  std::uint64_t source(int queue, std::uint64_t message) const {
    return 2 * region * static_cast<std::uint64_t>(queue) + message % slots * stride;
  }
  std::uint64_t destination(int queue, std::uint64_t message) const {
    return source(queue, message) + region;
  }
};

/// The numbers and sizes that the transport needs to set up its queues.
FabricShape fabric_shape(const RdmaSettings& settings, int queues);

}  // namespace assay
