#include "ranks/collective/tcp_links.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace assay {
namespace {

constexpr std::chrono::milliseconds patience{100};

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

Error TcpLinks::lost(int peer, const char* how) const {
  // A rank that ends because of another one also closes its connections: the team may know the
  // cause.
  if (const Status whole = team_.still_whole(); !whole) return whole.error();
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
      TRY(team_.still_whole());
    }
    if (ready > 0) return {};
  }
}

void TcpLinks::close() {
  for (Descriptor& socket : sockets_) socket.close();
}

}  // namespace assay
