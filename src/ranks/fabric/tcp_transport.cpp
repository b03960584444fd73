#include "ranks/fabric/tcp_transport.h"

#include "core/tcp.h"
#include "ranks/fabric/tcp_inbox.h"
#include "ranks/fabric/tcp_queue.h"
#include "ranks/team/links.h"

namespace assay {
namespace {

class TcpTransport final : public Transport {
 public:
  TcpTransport(LinkListener listener, const FabricWindow& window, int queues)
      : listener_(std::move(listener)), window_(window), number_(queues), inbox_(queues) {}

  std::string_view name() const override { return "tcp"; }
  std::vector<std::pair<std::string, std::string>> facts() const override {
    std::vector<std::pair<std::string, std::string>> facts = {{"memory_path", "host"}};
    if (!queues_.empty()) facts.emplace_back("peer", tcp_peer(queues_[0]->socket()));
    return facts;
  }
  std::string address() const override { return to_text(listener_.address); }

  Status connect(const std::string& peer, Team& team) override {
    const LinkPeer other = {"the peer", TRY(parse_link_address(peer))};
    auto sockets = TRY(connect_links(std::move(listener_), {&other, 1}, number_, team));
    for (Descriptor& socket : sockets.front()) {
      queues_.push_back(std::make_unique<tcp::Queue>(static_cast<int>(queues_.size()),
                                                     std::move(socket), window_, inbox_));
    }
    return {};
  }

  Status post(int queue, std::span<const FabricRequest> requests) override {
    queues_[static_cast<std::size_t>(queue)]->post(requests);
    return {};
  }
  Status receive(int queue, std::uint64_t offset, std::uint64_t bytes, std::uint64_t id) override {
    queues_[static_cast<std::size_t>(queue)]->receive(offset, bytes, id);
    return {};
  }
  Result<std::size_t> poll(std::span<FabricCompletion> completions,
                           std::chrono::milliseconds most) override {
    return inbox_.take(completions, most);
  }
  Result<bool> await_write(int queue, std::uint64_t offset, std::uint8_t value,
                           std::chrono::milliseconds most) override {
    if (!TRY(inbox_.await_landing(queue, most))) return false;
    return static_cast<const std::uint8_t*>(window_.address)[offset] == value;
  }

 private:
  LinkListener listener_;
  FabricWindow window_;
  int number_;
  tcp::Inbox inbox_;
  std::vector<std::unique_ptr<tcp::Queue>> queues_;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_tcp_transport(const FabricWindow& window,
                                                      const FabricShape& shape) {
  if (window.device != nullptr) {
    return Error{ErrorKind::unsupported, "TCP moves host memory only"};
  }
  LinkListener listener = TRY(LinkListener::open());
  return std::unique_ptr<Transport>(
      std::make_unique<TcpTransport>(std::move(listener), window, shape.queues));
}

}  // namespace assay
