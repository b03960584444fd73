// The messages of one cell of `rdma`, as one of the two ranks sends and receives them.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "measure/benchmarks/rdma_settings.h"
#include "ranks/fabric/transport.h"
#include "ranks/team/team.h"

namespace assay {

class RdmaTraffic {
 public:
  /// `first`: this rank is `from`. Queues: of the transport.
  RdmaTraffic(const RdmaSettings& settings, int queues, bool first, char* host_window,
              Transport& transport, Team& team);

  /// Messages of one run, per queue and direction.
  void set_messages(std::uint64_t messages) { messages_ = messages; }
  std::uint64_t messages() const { return messages_; }
  /// The value of the last byte that a ping-pong of writes has left behind.
  std::uint8_t last_value() const { return value_; }

  /// Posts what the next run receives. Both ranks do so before either begins with meet().
  Status post_receives();
  /// A handshake over the transport itself, after which both ranks go on within half a round trip.
  Status meet();
  /// All messages of one run. Returns when this rank's are complete, and where it serves the
  /// peer's, when those are, too.
  Status run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Flow {
    std::uint64_t posted = 0, completed = 0;          // of this rank's messages
    std::uint64_t receives_posted = 0, received = 0;  // of the peer's
  };

  bool one_sided() const { return settings_.operation != FabricOperation::send; }
  bool ping_pong() const {
    return settings_.latency && settings_.operation != FabricOperation::read;
  }
  /// Whether the peer says when its messages are complete: this rank cannot see them.
  bool told_at_end() const { return one_sided() && serves_ && !ping_pong(); }
  Status stream();
  Status ping();
  Status pong(std::uint64_t message);
  Status await_pong(std::uint64_t message);
  Status await_own(std::uint64_t message);
  Status read_one_by_one();
  Status fill(int queue);
  bool all_done() const;
  Status post_receive(int queue);
  Status send_control();
  FabricRequest request(int queue, std::uint64_t message, bool signalled) const;
  /// Waits a little for completions and takes them in; looks at the team if there are none.
  Status turn();
  /// The team's state; an error if the peer has been silent for too long.
  Status no_news();
  Status take_in(const FabricCompletion& completion);

  RdmaSettings settings_;
  RdmaLayout layout_;
  int per_completion_;
  int receives_ahead_;
  bool first_;
  bool posts_, serves_;  // data: this rank its own, the peer its own
  char* host_window_;    // null: the window is a device's
  Transport& transport_;
  Team& team_;
  std::uint64_t messages_ = 1;
  std::vector<Flow> flows_;
  std::vector<FabricRequest> batch_;
  bool met_ = false;        // the peer's handshake at the start has come
  bool peer_done_ = false;  // and the one at the end
  int controls_ = 0;        // handshakes of this rank under way
  std::uint8_t value_ = 0;
  Clock::time_point last_news_;  // of the peer
};

}  // namespace assay
