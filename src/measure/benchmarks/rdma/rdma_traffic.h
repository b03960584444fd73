// The messages of one cell of `rdma`, sent and received by one of the two ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "measure/benchmarks/rdma/rdma_settings.h"
#include "ranks/fabric/transport.h"
#include "ranks/team/team.h"

namespace assay {

/// For each run both ranks call post_receives(), meet() and run(). Errors are those of the
/// transport and of Team::check_alive(), and silence if the peer sends nothing for 5 s and the time
/// that the run's bytes take at 10 MB/s.
class RdmaTraffic {
 public:
  /// `first`: whether this rank is `from`. `queues`: the number of queues of the transport.
  /// `host_window`: see RdmaLink. Transport and team must outlive the object.
  RdmaTraffic(const RdmaSettings& settings, int queues, bool first, char* host_window,
              Transport& transport, Team& team);

  /// Sets the number of messages in one run, per queue and direction.
  void set_messages(std::uint64_t messages) { messages_ = messages; }
  /// The last byte written by a ping-pong of writes.
  std::uint8_t last_value() const { return value_; }

  /// Posts the receives of the next run. Both ranks must do so before either calls meet().
  Status post_receives();
  /// A handshake over the transport itself; both ranks return within half a round trip of each
  /// other.
  Status meet();
  /// Exchanges all messages of one run. Returns when this rank's messages are complete and, if the
  /// peer sends or reads some as well, those too.
  Status run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Flow {
    std::uint64_t posted = 0, completed = 0;          // this rank's messages
    std::uint64_t receives_posted = 0, received = 0;  // the peer's messages
  };

  bool one_sided() const { return settings_.operation != FabricOperation::send; }
  bool ping_pong() const {
    return settings_.latency && settings_.operation != FabricOperation::read;
  }
  /// Returns whether the peer announces the end of its messages, because this rank cannot see them.
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
  /// Waits briefly for completions and processes them; checks the team if there are none.
  Status turn();
  /// The state of the team. Error: silence if the peer has been silent for too long.
  Status no_news();
  Status take_in(const FabricCompletion& completion);

  RdmaSettings settings_;
  RdmaLayout layout_;
  int per_completion_;
  int receives_ahead_;
  bool first_;
  bool posts_, serves_;  // whether this rank posts messages, and whether it serves the peer's
  char* host_window_;    // null: the window is in device memory
  Transport& transport_;
  Team& team_;
  std::uint64_t messages_ = 1;
  std::vector<Flow> flows_;
  std::vector<FabricRequest> batch_;
  bool met_ = false;        // the peer's initial handshake has arrived
  bool peer_done_ = false;  // the peer's final handshake has arrived
  int controls_ = 0;        // this rank's handshakes in flight
  std::uint8_t value_ = 0;
  Clock::time_point last_news_;  // time of the last sign of life from the peer
};

}  // namespace assay
