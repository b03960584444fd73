#include "measure/benchmarks/rdma/rdma_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

/// The interval at which every wait checks the team.
constexpr std::chrono::milliseconds look(20);
constexpr std::uint64_t control_id = 0xffffffff;

// How long a rank waits for its silent peer. A rank with an error reports it to the team, so a peer
// that waits for messages must stop waiting to receive that report. Adapters give up within about
// two seconds.
constexpr double patience_seconds = 5;
constexpr double slowest_network = 10e6;  // bytes/s; a run may take the time that this needs

}  // namespace

RdmaTraffic::RdmaTraffic(const RdmaSettings& settings, int queues, bool first, char* host_window,
                         Transport& transport, Team& team)
    : settings_(settings),
      layout_(settings.size),
      per_completion_(messages_per_completion(settings)),
      receives_ahead_(fabric_shape(settings, queues).receive_depth - 1),
      first_(first),
      posts_(first || settings.both || ping_pong()),
      serves_(!first || settings.both || ping_pong()),
      host_window_(host_window),
      transport_(transport),
      team_(team),
      flows_(static_cast<std::size_t>(queues)) {}

Status RdmaTraffic::post_receives() {
  std::fill(flows_.begin(), flows_.end(), Flow());
  met_ = peer_done_ = false;
  last_news_ = Clock::now();
  // Receives are consumed in the order of posting: first the handshake, then the messages or, if
  // messages need no receives, the final handshake.
  TRY(transport_.receive(0, layout_.destination(0, 0), 0, 0));
  if (one_sided()) {
    return told_at_end() ? transport_.receive(0, layout_.destination(0, 0), 0, 0) : Status();
  }
  const int queues = static_cast<int>(flows_.size());
  for (int queue = 0; serves_ && queue < queues; ++queue) {
    const auto ahead = std::min<std::uint64_t>(messages_, receives_ahead_);
    for (std::uint64_t i = 0; i < ahead; ++i) TRY(post_receive(queue));
  }
  return {};
}

Status RdmaTraffic::post_receive(int queue) {
  Flow& flow = flows_[static_cast<std::size_t>(queue)];
  const std::uint64_t message = flow.receives_posted++;
  return transport_.receive(queue, layout_.destination(queue, ping_pong() ? 0 : message),
                            settings_.size, message);
}

Status RdmaTraffic::send_control() {
  ++controls_;
  const FabricRequest control{FabricOperation::send, 0, 0, 0, true, control_id};
  return transport_.post(0, {&control, 1});
}

Status RdmaTraffic::meet() {
  TRY(send_control());
  while (!met_ || controls_ > 0) TRY(turn());
  return {};
}

Status RdmaTraffic::run() {
  if (ping_pong()) return ping();
  TRY(settings_.latency && first_ ? read_one_by_one() : stream());
  if (!one_sided()) return {};
  // The peer cannot see one-sided messages, so each rank sends a notice when its own are complete.
  if (posts_) TRY(send_control());
  while (told_at_end() && !peer_done_) TRY(turn());
  return {};
}

Status RdmaTraffic::stream() {
  const int queues = static_cast<int>(flows_.size());
  while (true) {
    for (int queue = 0; posts_ && queue < queues; ++queue) TRY(fill(queue));
    if (all_done()) return {};
    TRY(turn());
  }
}

Status RdmaTraffic::fill(int queue) {
  Flow& flow = flows_[static_cast<std::size_t>(queue)];
  const auto depth = static_cast<std::uint64_t>(settings_.depth);
  const auto every = static_cast<std::uint64_t>(per_completion_);
  while (flow.posted < messages_) {
    const std::uint64_t count = std::min<std::uint64_t>(static_cast<std::uint64_t>(settings_.batch),
                                                        messages_ - flow.posted);
    if (flow.posted + count - flow.completed > depth) return {};
    batch_.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t message = flow.posted++;
      const bool signalled = flow.posted % every == 0 || flow.posted == messages_;
      batch_.push_back(request(queue, message, signalled));
    }
    TRY(transport_.post(queue, batch_));
  }
  return {};
}

FabricRequest RdmaTraffic::request(int queue, std::uint64_t message, bool signalled) const {
  const std::uint64_t source = layout_.source(queue, message);
  const std::uint64_t destination = layout_.destination(queue, message);
  const bool read = settings_.operation == FabricOperation::read;
  return {settings_.operation,
          read ? destination : source,
          read ? source : destination,
          settings_.size,
          signalled,
          message + 1};
}

bool RdmaTraffic::all_done() const {
  return std::all_of(flows_.begin(), flows_.end(), [&](const Flow& flow) {
    return (!posts_ || flow.completed == messages_) &&
           (!serves_ || one_sided() || flow.received == messages_);
  });
}

Status RdmaTraffic::ping() {
  for (std::uint64_t message = 0; message < messages_; ++message) {
    ++value_;
    if (first_) TRY(pong(message));
    TRY(await_pong(message));
    if (!first_) TRY(pong(message));
    TRY(await_own(message));
  }
  return {};
}

Status RdmaTraffic::pong(std::uint64_t message) {
  // A ping-pong always uses the same slot, because the peer polls a fixed byte.
  FabricRequest next = request(0, 0, true);
  next.id = message + 1;
  if (settings_.operation == FabricOperation::write) {
    host_window_[next.local + settings_.size - 1] = static_cast<char>(value_);
  }
  return transport_.post(0, {&next, 1});
}

Status RdmaTraffic::await_pong(std::uint64_t message) {
  if (settings_.operation == FabricOperation::send) {
    while (flows_[0].received <= message) TRY(turn());
    return {};
  }
  const std::uint64_t last = layout_.destination(0, 0) + settings_.size - 1;
  while (!TRY(transport_.await_write(0, last, value_, look))) TRY(no_news());
  last_news_ = Clock::now();
  return {};
}

Status RdmaTraffic::await_own(std::uint64_t message) {
  while (flows_[0].completed <= message) TRY(turn());
  return {};
}

Status RdmaTraffic::read_one_by_one() {
  for (std::uint64_t message = 0; message < messages_; ++message) {
    const FabricRequest next = request(0, message, true);
    TRY(transport_.post(0, {&next, 1}));
    TRY(await_own(message));
  }
  return {};
}

Status RdmaTraffic::turn() {
  std::array<FabricCompletion, 64> completions;
  const std::size_t count = TRY(transport_.poll(completions, look));
  if (count == 0) return no_news();
  last_news_ = Clock::now();
  for (std::size_t i = 0; i < count; ++i) TRY(take_in(completions[i]));
  return {};
}

Status RdmaTraffic::no_news() {
  const double bytes = static_cast<double>(messages_ * settings_.size * flows_.size());
  const double patience = patience_seconds + bytes / slowest_network;
  if (std::chrono::duration<double>(Clock::now() - last_news_).count() > patience) {
    const auto peer = static_cast<std::size_t>(first_ ? settings_.to : settings_.from);
    return Error{ErrorKind::silence, fmt::format("no messages from {} for {:.0f} s",
                                                 name_of(team_.members()[peer]), patience)};
  }
  return team_.check_alive();
}

Status RdmaTraffic::take_in(const FabricCompletion& completion) {
  Flow& flow = flows_[static_cast<std::size_t>(completion.queue)];
  if (!completion.received) {
    if (completion.id == control_id) {
      --controls_;
    } else {
      flow.completed = completion.id;
    }
    return {};
  }
  if (completion.queue == 0 && !met_) {
    met_ = true;
    return {};
  }
  if (one_sided()) {
    peer_done_ = true;
    return {};
  }
  ++flow.received;
  return flow.receives_posted < messages_ ? post_receive(completion.queue) : Status();
}

}  // namespace assay
