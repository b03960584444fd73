#include "ranks/collective/tcp_links.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "ranks/team/agreement.h"
#include "ranks/team/links.h"

namespace assay {
namespace {

constexpr std::chrono::milliseconds patience{100};

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

Result<std::unique_ptr<TcpLinks>> TcpLinks::connect(Team& team) {
  auto listener = LinkListener::open();
  const auto all = TRY(exchange_or_fail(
      team, "addresses for TCP",
      listener ? Result<std::string>(to_text(listener->address)) : listener.error()));
  std::vector<LinkPeer> peers;
  for (const TeamMember& member : team.members()) {
    if (member.rank == team.rank()) continue;
    auto address = parse_link_address(all[static_cast<std::size_t>(member.rank)]);
    if (!address) {
      return Error{ErrorKind::failed,
                   fmt::format("TCP: {} sent no usable address", name_of(member))};
    }
    peers.push_back({name_of(member), std::move(*address)});
  }
  auto connected = TRY(connect_links(std::move(*listener), peers, 1, team));
  std::vector<Descriptor> sockets(static_cast<std::size_t>(team.size()));
  for (std::size_t peer = 0; peer < peers.size(); ++peer) {
    const std::size_t rank = peer < static_cast<std::size_t>(team.rank()) ? peer : peer + 1;
    sockets[rank] = std::move(connected[peer].front());
  }
  return std::unique_ptr<TcpLinks>(new TcpLinks(team, std::move(sockets)));
}

Error TcpLinks::lost(int peer, const char* how) const {
  // A rank that ends because of another one also closes its connections, so the team may know the
  // cause.
  if (const Status whole = team_.check_alive(); !whole) return whole.error();
  return {ErrorKind::failed,
          fmt::format("TCP: lost {}: {}; the rank ended or its network failed",
                      name_of(team_.members()[static_cast<std::size_t>(peer)]), how)};
}

Result<std::size_t> TcpLinks::send_some(int peer, const void* data, std::size_t bytes) {
  const int socket = sockets_[static_cast<std::size_t>(peer)].number();
  const ssize_t sent = ::send(socket, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (would_block(errno)) return std::size_t{0};
  return lost(peer, std::strerror(errno));
}

Result<std::size_t> TcpLinks::receive_some(int peer, void* data, std::size_t bytes) {
  const int socket = sockets_[static_cast<std::size_t>(peer)].number();
  const ssize_t received = ::recv(socket, data, bytes, MSG_DONTWAIT);
  if (received > 0) return static_cast<std::size_t>(received);
  if (received == 0) return lost(peer, "it closed the connection");
  if (would_block(errno)) return std::size_t{0};
  return lost(peer, std::strerror(errno));
}

pollfd TcpLinks::interest(int peer, short events) const {
  return {sockets_[static_cast<std::size_t>(peer)].number(), events, 0};
}

Status TcpLinks::wait(std::vector<pollfd>& interests) {
  for (;;) {
    const int ready =
        ::poll(interests.data(), interests.size(), static_cast<int>(patience.count()));
    if (ready < 0 && errno != EINTR) {
      return Error{ErrorKind::failed, fmt::format("TCP: poll: {}", std::strerror(errno))};
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ >= patience) {
      asked_ = now;
      TRY(team_.check_alive());
    }
    if (ready > 0) return {};
  }
}

void TcpLinks::close() {
  for (const Descriptor& socket : sockets_) ::shutdown(socket.number(), SHUT_RDWR);
}

}  // namespace assay
