// Messages between two ranks over a network: by RDMA hardware, or by TCP without it.
//
// Each end has one window of memory and the same number of queues; queue i of one end is connected
// to queue i of the other. Requests of one queue are executed in order; queues are independent.
// Except for connect(), no call waits longer than its argument allows. One thread makes all calls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

enum class FabricOperation {
  write,  ///< into the peer's window, unnoticed by the peer
  read,   ///< from the peer's window, unnoticed by the peer
  send,   ///< into the peer's next posted receive on the same queue
};

/// Returns the name: "write", "read" or "send".
std::string_view name_of(FabricOperation operation);

/// One message. Offsets are bytes from the start of a window.
struct FabricRequest {
  FabricOperation operation = FabricOperation::write;
  std::uint64_t local = 0;   ///< offset of the data in this end's window
  std::uint64_t remote = 0;  ///< offset of the data in the peer's window; unused for a send
  std::uint64_t bytes = 0;   ///< below 2^32
  /// Produces a completion, which also covers every earlier request of its queue.
  bool signalled = true;
  std::uint64_t id = 0;  ///< below 2^32; comes back in the completion
};

struct FabricCompletion {
  int queue = 0;
  bool received = false;  ///< true: a receive was filled; false: a request is done
  std::uint64_t id = 0;
};

/// The memory of one end. Must outlive the transport.
struct FabricWindow {
  void* address = nullptr;
  std::size_t bytes = 0;
  Device* device = nullptr;  ///< the device that owns the memory; null: the host
};

struct FabricShape {
  int queues = 1;
  int send_depth = 1;              ///< upper limit of outstanding requests per queue
  int receive_depth = 1;           ///< upper limit of posted receives per queue
  std::uint32_t inline_bytes = 0;  ///< up to this size, messages travel inside the request
  /// The bytes of a message must be stored in order, because the receiver polls the last one.
  bool in_order = false;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;  ///< "verbs", "tcp"
  /// Returns names and texts of facts for records: adapter, link, MTU, address, how the window was
  /// registered.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;

  /// Returns what the peer's connect() needs to reach this end.
  virtual std::string address() const = 0;
  /// Both ends call it with each other's address(). Error: failed, naming the step; or as
  /// Team::check_alive() if the peer does not connect.
  virtual Status connect(const std::string& peer, Team& team) = 0;

  /// Submits requests in order. Never waits for the peer; unsignalled requests may be held back
  /// until a signalled one follows. Error: failed, naming the first request that was rejected;
  /// those before it were submitted. TCP reports its errors only by poll() and await_write().
  virtual Status post(int queue, std::span<const FabricRequest> requests) = 0;
  /// Posts a receive of up to `bytes` into the window. Error: failed.
  virtual Status receive(int queue, std::uint64_t offset, std::uint64_t bytes,
                         std::uint64_t id) = 0;
  /// Waits up to `most` for the first completion, fills `completions` and returns their number.
  /// Error: failed, naming the operation and the reason; the queues are then unusable.
  virtual Result<std::size_t> poll(std::span<FabricCompletion> completions,
                                   std::chrono::milliseconds most) = 0;
  /// Waits up to `most` for the peer's next write on `queue`, which sets the byte at `offset` to
  /// `value`. Returns whether it has arrived. Host memory only. Error: failed, over TCP only, as
  /// poll().
  virtual Result<bool> await_write(int queue, std::uint64_t offset, std::uint8_t value,
                                   std::chrono::milliseconds most) = 0;
};

}  // namespace assay
