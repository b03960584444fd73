#include "ranks/fabric/verbs_transport.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <sstream>

#include "ranks/fabric/verbs_rail.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

/// The contents of a request's number besides the caller's id: queue and kind of operation.
struct Tag {
  std::uint64_t id;
  int queue;
  bool received;
  FabricOperation operation;

  std::uint64_t pack() const {
    return (id & 0xffffffff) | static_cast<std::uint64_t>(queue) << 32 |
           static_cast<std::uint64_t>(received) << 56 | static_cast<std::uint64_t>(operation) << 57;
  }
  static Tag of(std::uint64_t number) {
    return {number & 0xffffffff, static_cast<int>(number >> 32 & 0xffffff), (number >> 56 & 1) != 0,
            static_cast<FabricOperation>(number >> 57 & 3)};
  }
};

int opcode_of(FabricOperation operation) {
  switch (operation) {
    case FabricOperation::write:
      return verbs::opcode::write;
    case FabricOperation::read:
      return verbs::opcode::read;
    case FabricOperation::send:
      break;
  }
  return verbs::opcode::send;
}

class VerbsTransport final : public Transport {
 public:
  VerbsTransport(std::shared_ptr<const verbs::Library> library,
                 std::vector<std::unique_ptr<verbs::Rail>> rails, const FabricWindow& window,
                 const FabricShape& shape)
      : library_(std::move(library)),
        rails_(std::move(rails)),
        window_(window),
        shape_(shape),
        peers_(static_cast<std::size_t>(shape.queues)) {}

  std::string_view name() const override { return "verbs"; }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    std::vector<std::string> nics, links, gids;
    for (const auto& rail : rails_) {
      const verbs::Port& port = rail->port();
      nics.push_back(verbs::label(port));
      links.push_back(
          fmt::format("{} MTU {}", port.ethernet() ? "RoCE" : "InfiniBand", port.mtu_bytes()));
      if (port.gid_index >= 0) {
        gids.push_back(fmt::format("{} {}", port.gid_index, port.gid_type));
      }
    }
    std::vector<std::pair<std::string, std::string>> facts = {
        {"nic", fmt::format("{}", fmt::join(nics, ", "))},
        {"link", fmt::format("{}", fmt::join(links, ", "))},
        {"memory_path", rails_[0]->memory_path()},
        {"inline_bytes", std::to_string(rails_[0]->inline_bytes())}};
    if (!gids.empty()) facts.emplace_back("gid", fmt::format("{}", fmt::join(gids, ", ")));
    return facts;
  }

  std::string address() const override {
    std::string text;
    for (int queue = 0; queue < shape_.queues; ++queue) {
      text += to_text(rail(queue).address(index(queue))) + "\n";
    }
    return text;
  }

  Status connect(const std::string& peer, Team&) override {
    std::istringstream lines(peer);
    std::string line;
    for (int queue = 0; queue < shape_.queues; ++queue) {
      std::getline(lines, line);
      verbs::QueueAddress& address = peers_[static_cast<std::size_t>(queue)];
      address = TRY(verbs::parse_queue_address(line));
      TRY(rail(queue).connect(index(queue), address));
    }
    return {};
  }

  Status post(int queue, std::span<const FabricRequest> requests) override {
    scatter_.resize(requests.size());
    wire_.resize(requests.size());
    const verbs::QueueAddress& peer = peers_[static_cast<std::size_t>(queue)];
    const verbs::Rail& rail_of_queue = rail(queue);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const FabricRequest& request = requests[i];
      scatter_[i] = {window_start() + request.local, static_cast<std::uint32_t>(request.bytes),
                     rail_of_queue.key()};
      verbs::SendRequest& wire = wire_[i];
      wire = {};
      wire.wr_id = Tag{request.id, queue, false, request.operation}.pack();
      wire.next = i + 1 < requests.size() ? &wire_[i + 1] : nullptr;
      wire.sg_list = &scatter_[i];
      wire.num_sge = request.bytes > 0 ? 1 : 0;
      wire.opcode = opcode_of(request.operation);
      const bool inlined = request.operation != FabricOperation::read && request.bytes > 0 &&
                           request.bytes <= rail_of_queue.inline_bytes();
      wire.send_flags = (request.signalled ? verbs::send_flag::signaled : 0) |
                        (inlined ? verbs::send_flag::inlined : 0);
      wire.remote_addr = peer.window + request.remote;
      wire.rkey = peer.key;
    }
    verbs::QueuePair* pair = rail_of_queue.pair(index(queue));
    verbs::SendRequest* bad = nullptr;
    const int code = pair->context->ops.post_send(pair, wire_.data(), &bad);
    if (code == 0) return {};
    std::size_t accepted = 0;
    while (accepted + 1 < requests.size() && bad != nullptr && &wire_[accepted] != bad) ++accepted;
    return verbs::verbs_error(
        verbs::label(rail_of_queue.port()),
        fmt::format("posting {} {} of {} on queue {}", name_of(requests[accepted].operation),
                    accepted + 1, requests.size(), queue),
        code);
  }

  Status receive(int queue, std::uint64_t offset, std::uint64_t bytes, std::uint64_t id) override {
    verbs::ScatterGather place{window_start() + offset, static_cast<std::uint32_t>(bytes),
                               rail(queue).key()};
    verbs::ReceiveRequest request{Tag{id, queue, true, FabricOperation::send}.pack(), nullptr,
                                  &place, bytes > 0 ? 1 : 0};
    verbs::QueuePair* pair = rail(queue).pair(index(queue));
    verbs::ReceiveRequest* bad = nullptr;
    const int code = pair->context->ops.post_recv(pair, &request, &bad);
    if (code == 0) return {};
    return verbs::verbs_error(verbs::label(rail(queue).port()),
                              fmt::format("posting a receive on queue {}", queue), code);
  }

  Result<std::size_t> poll(std::span<FabricCompletion> completions,
                           std::chrono::milliseconds most) override {
    const auto deadline = Clock::now() + most;
    do {
      std::size_t count = 0;
      for (const auto& rail : rails_) TRY(poll_rail(*rail, completions, count));
      if (count > 0) return count;
    } while (Clock::now() < deadline);
    return std::size_t{0};
  }

  Result<bool> await_write(int, std::uint64_t offset, std::uint8_t value,
                           std::chrono::milliseconds most) override {
    const auto* byte = static_cast<const volatile std::uint8_t*>(window_.address) + offset;
    const auto deadline = Clock::now() + most;
    constexpr int looks = 256;  // polls between checks of the clock
    do {
      for (int i = 0; i < looks; ++i) {
        if (*byte == value) return true;
      }
    } while (Clock::now() < deadline);
    return false;
  }

 private:
  verbs::Rail& rail(int queue) const {
    return *rails_[static_cast<std::size_t>(queue) % rails_.size()];
  }
  /// Returns the queue's index among those of its rail.
  std::size_t index(int queue) const { return static_cast<std::size_t>(queue) / rails_.size(); }
  std::uint64_t window_start() const { return reinterpret_cast<std::uint64_t>(window_.address); }

  Status poll_rail(const verbs::Rail& rail, std::span<FabricCompletion> completions,
                   std::size_t& count) {
    std::array<verbs::WorkCompletion, 16> found;
    const std::size_t room = std::min(found.size(), completions.size() - count);
    if (room == 0) return {};
    const std::size_t number = TRY(rail.poll(std::span(found).first(room)));
    for (std::size_t i = 0; i < number; ++i) {
      const Tag tag = Tag::of(found[i].wr_id);
      if (found[i].status != 0) return failure(rail, tag, found[i]);
      completions[count++] = {tag.queue, tag.received, tag.id};
    }
    return {};
  }

  Error failure(const verbs::Rail& rail, const Tag& tag, const verbs::WorkCompletion& completion) {
    return {
        ErrorKind::failed,
        fmt::format("{}: {} on queue {} failed: {} (status {}, vendor code {:#x})",
                    verbs::label(rail.port()), tag.received ? "receive" : name_of(tag.operation),
                    tag.queue, library_->api().status_text(completion.status), completion.status,
                    completion.vendor_err)};
  }

  std::shared_ptr<const verbs::Library> library_;
  std::vector<std::unique_ptr<verbs::Rail>> rails_;
  FabricWindow window_;
  FabricShape shape_;
  std::vector<verbs::QueueAddress> peers_;
  std::vector<verbs::ScatterGather> scatter_;  // elements of the requests being posted
  std::vector<verbs::SendRequest> wire_;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_verbs_transport(
    std::shared_ptr<const verbs::Library> library, std::vector<verbs::Port> ports,
    const FabricWindow& window, const FabricShape& shape) {
  std::vector<std::unique_ptr<verbs::Rail>> rails;
  const int count = static_cast<int>(ports.size());
  for (int i = 0; i < count; ++i) {
    const int queues = shape.queues / count + (i < shape.queues % count ? 1 : 0);
    rails.push_back(TRY(verbs::Rail::create(library, std::move(ports[static_cast<std::size_t>(i)]),
                                            window, shape, queues)));
  }
  return std::unique_ptr<Transport>(
      std::make_unique<VerbsTransport>(std::move(library), std::move(rails), window, shape));
}

}  // namespace assay
