// Messages between two ranks over a network: what RDMA hardware does, and TCP where there is none.
//
// Each end has one window of memory and the same number of queues; queue i of one end is connected
// to queue i of the other. Requests of one queue are carried out in order, queues do not wait for
// each other. Nothing here waits for longer than it is told to, except connect().
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
  write,  ///< into the peer's window, which does not notice
  read,   ///< out of the peer's window, which does not notice
  send,   ///< into the peer's next posted receive of the same queue
};

/// "write", "read", "send"
std::string_view name_of(FabricOperation operation);

/// One message. Offsets are bytes from the start of a window.
struct FabricRequest {
  FabricOperation operation = FabricOperation::write;
  std::uint64_t local = 0;   ///< of the data in this end's window
  std::uint64_t remote = 0;  ///< of the data in the peer's window; nothing for a send
  std::uint64_t bytes = 0;
  /// Gives a completion, which also stands for every request of its queue before it.
  bool signalled = true;
  std::uint64_t id = 0;  ///< below 2^32; comes back in the completion
};

struct FabricCompletion {
  int queue = 0;
  bool received = false;  ///< a posted receive was filled; else one of this end's requests is done
  std::uint64_t id = 0;
};

/// The memory of one end. Must outlive the transport.
struct FabricWindow {
  void* address = nullptr;
  std::size_t bytes = 0;
  Device* device = nullptr;  ///< whose memory it is; null: the host's
};

struct FabricShape {
  int queues = 1;
  int send_depth = 1;              ///< requests of one queue that may be outstanding
  int receive_depth = 1;           ///< receives of one queue that may be posted
  std::uint32_t inline_bytes = 0;  ///< messages up to this travel inside the request where possible
  /// The bytes of one message must land in order, for whoever watches its last one arrive.
  bool in_order = false;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;  ///< "verbs", "tcp"
  /// For records: adapter, link, MTU, address, how the window is registered.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;

  /// What the peer's connect() needs.
  virtual std::string address() const = 0;
  /// Both ends call it, with each other's address(). Error: failed, naming the step; what
  /// Team::still_whole() says if the peer does not come.
  virtual Status connect(const std::string& peer, Team& team) = 0;

  /// Hands over requests, in order. Never waits for the peer; what is not signalled may stay until
  /// something signalled follows. Error: failed, naming the first
  /// request that was not accepted; the ones before it are on their way.
  virtual Status post(int queue, std::span<const FabricRequest> requests) = 0;
  /// Posts a receive of up to `bytes` into the window. Error: failed.
  virtual Status receive(int queue, std::uint64_t offset, std::uint64_t bytes,
                         std::uint64_t id) = 0;
  /// Fills `completions` with what is complete and returns how many, waiting up to `most` for the
  /// first. Error: failed, naming the operation and the reason; the queues are then of no use.
  virtual Result<std::size_t> poll(std::span<FabricCompletion> completions,
                                   std::chrono::milliseconds most) = 0;
  /// Whether the peer's next write on `queue` has arrived, which sets the byte at `offset` to
  /// `value`, waiting up to `most` for it. Host memory only.
  virtual Result<bool> await_write(int queue, std::uint64_t offset, std::uint8_t value,
                                   std::chrono::milliseconds most) = 0;
};

}  // namespace assay
